package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
	"payrollgateway/internal/store/sqlite"
)

// ledger is a kind of store that a process is given by its URL, and that is
// opened while no process runs.
type ledger struct {
	name string
	url  func(t *testing.T, dir string) string
	open func(ctx context.Context, url string) (store.Store, error)
}

var ledgers = []ledger{
	{
		"sqlite",
		func(_ *testing.T, dir string) string { return "sqlite://" + filepath.Join(dir, "gateway.db") },
		func(ctx context.Context, url string) (store.Store, error) {
			return sqlite.Open(ctx, strings.TrimPrefix(url, "sqlite://"))
		},
	},
	{
		"postgres",
		func(t *testing.T, _ string) string { return pgtest.URL(t) },
		func(ctx context.Context, url string) (store.Store, error) { return postgres.Open(ctx, url) },
	},
}

// plant is a world whose engine is a process. Its ledger is open only while no
// process runs.
type plant struct {
	*world
	dir, url string
	ledger   ledger
	rested   map[string]payroll.State // end states seen so far, by line key
	alive    *process
}

// apiKey is the key of all plants.
const apiKey = "pgk_e2e_key"

func newPlant(t *testing.T, k kind, l ledger) *plant {
	t.Helper()
	dir := t.TempDir()
	p := &plant{dir: dir, ledger: l, url: l.url(t, dir), rested: map[string]payroll.State{}}
	p.world = newWorld(t, k, backend{l.name, func(*testing.T) store.Store { return nil }})
	sum := sha256.Sum256([]byte(apiKey))
	p.write("keys.yaml", fmt.Sprintf("- {id: e2e, tenant: %s, scopes: [submit, read, operate], sha256: \"%s\"}\n", tenant, hex.EncodeToString(sum[:])))
	p.write("vendors/acme.yaml", string(p.profile.Text))
	p.write("gateway.yaml", fmt.Sprintf("listen: 127.0.0.1:0\nstore: %q\nvendors: vendors\nkeys: keys.yaml\nlock_ttl: 1s\n", p.url))
	return p
}

func (p *plant) write(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	p.must(os.MkdirAll(filepath.Dir(file), 0o700))
	p.must(os.WriteFile(file, []byte(text), 0o600))
}

// withLedger opens the ledger for a look or a write.
func (p *plant) withLedger(f func()) {
	p.Helper()
	s, err := p.ledger.open(p.Context(), p.url)
	p.must(err)
	p.store = s
	f()
	p.store = nil
	p.must(s.Close())
}

// post puts a pay run of so many employees into the ledger, beside those named.
func (p *plant) post(n int, named ...string) {
	p.Helper()
	p.withLedger(func() { p.submit(n, named...) })
}

// start starts the gateway; a failpoint is "point:n", or "" for none.
func (p *plant) start(failpoint string) *process {
	p.Helper()
	binary := breaking
	if failpoint == "" {
		binary = product
	}
	p.alive = startProcess(p.T, built(p.T, binary), []string{"GATEWAY_FAILPOINT=" + failpoint}, "serve", "--config", filepath.Join(p.dir, "gateway.yaml"))
	return p.alive
}

// autopsy looks at the ledger right after a death: the resume token is never
// ahead of it (I12), and no end state was left (I7). A line with a trouble has
// left the token behind before: it is on its way again.
func (p *plant) autopsy() {
	p.Helper()
	p.withLedger(func() {
		for _, t := range p.batches() {
			p.eachLine(t, func(v store.LineView) {
				if v.Line.Ordinal <= t.LastCursor && v.Trouble == nil && (v.State == payroll.Pending || v.State == payroll.InFlight) {
					p.Errorf("I12: line %d is %v, and the token stands at %d", v.Line.Ordinal, v.State, t.LastCursor)
				}
				key := payroll.LineKey(v.Tenant, v.PayPeriod, v.Line.Key)
				if old, rested := p.rested[key]; rested && old != v.State {
					p.Errorf("I7: line %d was %v and is %v", v.Line.Ordinal, old, v.State)
				}
				if v.State.AtRest() {
					p.rested[key] = v.State
				}
			})
		}
	})
}

func (p *plant) eachLine(t store.Token, visit func(store.LineView)) {
	p.Helper()
	for page := (store.Page{Limit: 1000}); ; {
		lines, next, err := p.store.Lines(p.Context(), t.Batch.ID, 0, page)
		p.must(err)
		for _, v := range lines {
			visit(v)
		}
		if next == "" {
			return
		}
		page.After = next
	}
}

// ask makes a call of the API.
func (p *plant) ask(method, path, contentType, body string, header ...string) (status int, answer string) {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), method, p.alive.url+path, strings.NewReader(body))
	p.must(err)
	request.Header.Set("Authorization", "Bearer "+apiKey)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	p.must(err)
	return response.StatusCode, string(text)
}

// shown is what the tests read of a batch.
type shown struct {
	State  string         `json:"state"`
	Counts map[string]int `json:"counts"`
}

// look reads the newest batch, waiting for it to be at rest for so many seconds.
func (p *plant) look(wait int) (s shown, ok bool) {
	p.Helper()
	status, text := p.ask(http.MethodGet, "/v1/batches/"+p.key(), "", "", "Prefer", fmt.Sprintf("wait=%d", wait))
	return s, status == http.StatusOK && json.Unmarshal([]byte(text), &s) == nil
}

func (p *plant) key() string { return payroll.BatchKey(tenant, period, fmt.Sprint(p.groups)) }

// untilSettled waits until so many lines are settled.
func (p *plant) untilSettled(n int) {
	p.Helper()
	look, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		if s, ok := p.look(0); ok && s.Counts["settled"] >= n {
			return
		}
		select {
		case <-look.C:
		case <-late:
			p.Fatalf("not %d lines are settled\n%s", n, p.alive.log)
		}
	}
}

// finish lets the gateway end the batch by itself, stops it, and judges.
func (p *plant) finish() {
	p.Helper()
	for deadline := time.Now().Add(patience); ; {
		s, ok := p.look(30)
		if ok && s.State == "completed" {
			break
		}
		if time.Now().After(deadline) {
			p.Fatalf("the batch does not end: %+v\n%s", s, p.alive.log)
		}
	}
	p.alive.signal(os.Interrupt)
	if code := p.alive.wait(); code != 0 {
		p.Errorf("the gateway ended with status %d\n%s", code, p.alive.log)
	}
	p.autopsy()
	p.withLedger(func() {
		p.judge()
		if p.kind.name == "honours_keys" {
			p.noneParked()
		}
	})
}
