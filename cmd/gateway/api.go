package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/httpapi/apigen"
)

// api is a client of a running gateway.
type api struct {
	base string // without a slash at its end
	key  string
	http *http.Client
}

// Bounds of the client.
const (
	maxAnswer    = 64 << 20
	answerWithin = 90 * time.Second // longer than the longest wait
	uploadWithin = time.Hour
)

// newAPI takes the server and the key from the environment, else those of an
// unconfigured gateway on this machine, of which there are two keys.
func newAPI(getenv func(string) string, fallback developmentKey) (*api, error) {
	base := getenv("GATEWAY_URL")
	if base == "" {
		base = "http://127.0.0.1:8080"
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("GATEWAY_URL: must be a URL such as http://127.0.0.1:8080")
	}
	key := getenv("GATEWAY_KEY")
	if key == "" {
		var err error
		if key, err = fallback.read(dataDir(getenv)); err != nil {
			return nil, errors.New("no API key: set GATEWAY_KEY, or start `gateway serve` without a keys file, which makes a development key")
		}
	}
	return &api{base: strings.TrimRight(base, "/"), key: key, http: newHTTPClient()}, nil
}

func newHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is one request. The zero values are GET, no body, no headers.
type call struct {
	method string
	path   string // with its query
	header http.Header
	body   io.Reader
	within time.Duration // of the whole exchange; 0 = answerWithin
}

// answer is what came back, unless it was a problem.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// errUnreachable: nobody answers, as opposed to an answer that is a refusal.
var errUnreachable = errors.New("the gateway cannot be reached")

// do sends a call and reads its answer into out, unless that is nil. Problems
// are *problemError.
func (a *api) do(ctx context.Context, c call, out any) (answer, error) {
	if c.within == 0 {
		c.within = answerWithin
	}
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, c.method, a.base+c.path, c.body)
	if err != nil {
		return answer{}, err
	}
	for name, values := range c.header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	response, err := a.http.Do(request)
	if err != nil {
		return answer{}, a.unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, a.unreachable(ctx, err)
	}
	got := answer{response.StatusCode, response.Header, body}
	if response.StatusCode >= 300 && response.StatusCode != http.StatusNotModified {
		return got, newProblem(got)
	}
	if out != nil && len(body) > 0 {
		if err := json.Unmarshal(body, out); err != nil {
			return got, fmt.Errorf("the answer of %s cannot be read: is it a payroll gateway?", a.base)
		}
	}
	return got, nil
}

func (a *api) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%w at %s (%w): start it with `gateway serve`, or set GATEWAY_URL", errUnreachable, a.base, err)
}

// get reads a document.
func (a *api) get(ctx context.Context, path string, out any) (answer, error) {
	return a.do(ctx, call{method: http.MethodGet, path: path}, out)
}

// post sends a JSON body.
func (a *api) post(ctx context.Context, path string, in, out any) (answer, error) {
	c := call{method: http.MethodPost, path: path, header: http.Header{}}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return answer{}, err
		}
		c.body = bytes.NewReader(body)
		c.header.Set("Content-Type", "application/json")
	}
	return a.do(ctx, c, out)
}

// page is any page of a list.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"`
}

// pageSize is how many items one call of each asks for.
const pageSize = 1000

// each visits the items of a list, page by page, at most limit of them (0: all).
func each[T any](ctx context.Context, a *api, path string, query url.Values, limit int, visit func(T) error) error {
	if query == nil {
		query = url.Values{}
	}
	for seen := 0; ; {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-seen)
		}
		query.Set("limit", strconv.Itoa(size))
		var p page[T]
		if _, err := a.get(ctx, path+"?"+query.Encode(), &p); err != nil {
			return err
		}
		for _, item := range p.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		seen += len(p.Items)
		if p.NextCursor == "" || limit > 0 && seen >= limit {
			return nil
		}
		query.Set("cursor", p.NextCursor)
	}
}

func batchPath(key string) string { return "/v1/batches/" + url.PathEscape(key) }

// batch reads a batch. With an etag it waits up to so long for a change; same
// says that there was none.
func (a *api) batch(ctx context.Context, key, etag string, wait time.Duration) (b apigen.Batch, newTag string, same bool, err error) {
	c := call{method: http.MethodGet, path: batchPath(key), header: http.Header{}}
	if etag != "" {
		c.header.Set("If-None-Match", etag)
		c.header.Set("Prefer", "wait="+strconv.Itoa(int(wait.Seconds())))
	}
	got, err := a.do(ctx, c, &b)
	return b, got.header.Get("ETag"), got.status == http.StatusNotModified, err
}

// resume asks for a batch to be taken up now.
func (a *api) resume(ctx context.Context, token uuid.UUID) (t apigen.ResumeToken, got answer, err error) {
	got, err = a.post(ctx, "/v1/resume-tokens/"+token.String()+"/resume", nil, &t)
	return t, got, err
}
