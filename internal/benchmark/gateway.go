package benchmark

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// gateway is the product as a process of its own, as it is shipped.
type gateway struct {
	process *process
	base    string
	key     string
	http    *http.Client
}

// startGateway starts the product on a store and waits until it takes requests.
func (l *lab) startGateway(store string) (*gateway, error) {
	dir, err := os.MkdirTemp(l.Dir, "gateway-*")
	if err != nil {
		return nil, err
	}
	g := &gateway{key: "benchmark-key-of-this-run-alone", http: &http.Client{Timeout: 20 * time.Minute}}
	address, err := freeAddress(l.ctx)
	if err != nil {
		return nil, err
	}
	g.base = "http://" + address
	config, err := g.writeConfig(dir, address, store, l.vendorURL)
	if err != nil {
		return nil, err
	}
	if g.process, err = start(l.ctx, l.Gateway, "serve", "--config", config); err != nil {
		return nil, err
	}
	if err := g.awaitReady(l.ctx); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return g, nil
}

// freeAddress is a loopback address that nobody listened on a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func (g *gateway) writeConfig(dir, address, store, vendorURL string) (file string, err error) {
	sum := sha256.Sum256([]byte(g.key))
	file = filepath.Join(dir, "gateway.yaml")
	files := map[string][]byte{
		file: fmt.Appendf(nil, "listen: %s\nstore: %s\nvendors: vendors\nkeys: keys.yaml\nworkers: 64\n", address, store),
		filepath.Join(dir, "keys.yaml"): fmt.Appendf(nil, "- {id: bench, tenant: %s, scopes: [submit, read, operate], sha256: %s}\n",
			tenant, hex.EncodeToString(sum[:])),
	}
	for _, a := range []account{open, shut, paced} {
		files[filepath.Join(dir, "vendors", a.name+".yaml")] = a.profile(vendorURL)
	}
	if err := os.Mkdir(filepath.Join(dir, "vendors"), 0o700); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return "", err
		}
	}
	return file, nil
}

// patience bounds the start of the product.
const patience = time.Minute

func (g *gateway) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := g.get(ctx, "/readyz", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the gateway did not become ready: %w", err)
		case <-ticker.C:
		}
	}
}

// batchStatus is what an answer says about a batch.
type batchStatus struct {
	BatchKey    string           `json:"batch_key"`
	State       string           `json:"state"`
	Total       int64            `json:"total"`
	Counts      map[string]int64 `json:"counts"`
	CompletedAt time.Time        `json:"completed_at"`
}

// submit posts a pay run as NDJSON and returns when the 202 is read.
func (g *gateway) submit(ctx context.Context, vendor, period string, body io.Reader) (b batchStatus, err error) {
	query := url.Values{"vendor": {vendor}, "pay_period_id": {period}, "run_attempt_group": {"1"}, "currency": {currency}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/v1/batches?"+query.Encode(), body)
	if err != nil {
		return b, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	return b, g.do(request, http.StatusAccepted, &b)
}

// whole is a pay run's body in memory, so that making it costs nobody anything.
func whole(lines int) (*bytes.Reader, error) {
	body, err := io.ReadAll(newNDJSON(lines))
	return bytes.NewReader(body), err
}

// settled waits until a batch is complete and returns it, all its lines settled.
func (g *gateway) settled(ctx context.Context, batchKey string) (b batchStatus, err error) {
	for b.CompletedAt.IsZero() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/v1/batches/"+batchKey, http.NoBody)
		if err != nil {
			return b, err
		}
		request.Header.Set("Prefer", "wait=60")
		if err := g.do(request, http.StatusOK, &b); err != nil {
			return b, err
		}
	}
	if b.Counts["settled"] != b.Total {
		return b, fmt.Errorf("a clean run left %d of %d lines unsettled", b.Total-b.Counts["settled"], b.Total)
	}
	return b, nil
}

// endToEnd submits a pay run and says how long it took from the first byte of
// its body to the commit that completed it.
func (g *gateway) endToEnd(ctx context.Context, vendor, period string, body io.Reader) (time.Duration, error) {
	begun := time.Now()
	b, err := g.submit(ctx, vendor, period, body)
	if err == nil {
		b, err = g.settled(ctx, b.BatchKey)
	}
	return b.CompletedAt.Sub(begun), err
}

func (g *gateway) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+path, http.NoBody)
	if err != nil {
		return err
	}
	return g.do(request, http.StatusOK, into)
}

// do sends a request, checks the status and reads the answer; into nil = does
// not matter.
func (g *gateway) do(request *http.Request, status int, into any) error {
	request.Header.Set("Authorization", "Bearer "+g.key)
	response, err := g.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != status {
		return fmt.Errorf("%s %s: %s: %s", request.Method, request.URL.Path, response.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

func (g *gateway) stop() error {
	g.http.CloseIdleConnections()
	return g.process.stop()
}
