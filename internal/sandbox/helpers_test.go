package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childJournal makes the test binary a sandbox on that journal instead.
const childJournal = "SANDBOX_TEST_CHILD_JOURNAL"

func TestMain(m *testing.M) {
	if journal := os.Getenv(childJournal); journal != "" {
		err := Run(context.Background(), Config{Journal: journal}, func(a net.Addr) { fmt.Println(a) })
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// fakeClock moves only when told; a pause is noted and is over at once.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	pauses []time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) (fired <-chan time.Time, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses = append(c.pauses, d)
	over := make(chan time.Time)
	close(over)
	return over, func() {}
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *fakeClock) paused() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses
}

// vendor is a sandbox behind real HTTP on loopback.
type vendor struct {
	t       *testing.T
	cfg     Config
	clock   *fakeClock
	server  *Server
	journal *Journal
	web     *httptest.Server
	client  *http.Client
}

// start starts a sandbox on a fake clock, unless cfg brings its own.
func start(t *testing.T, cfg Config) *vendor {
	t.Helper()
	v := &vendor{t: t, cfg: cfg, clock: newFakeClock()}
	if v.cfg.Clock == nil {
		v.cfg.Clock = v.clock
	}
	if v.cfg.Journal == "" {
		v.cfg.Journal = filepath.Join(t.TempDir(), "journal.jsonl")
	}
	v.open()
	t.Cleanup(v.stop)
	return v
}

func (v *vendor) open() {
	v.t.Helper()
	var err error
	if v.journal, err = OpenJournal(v.cfg.Journal); err != nil {
		v.t.Fatal(err)
	}
	if v.server, err = New(v.cfg, v.journal); err != nil {
		v.t.Fatal(err)
	}
	v.web = httptest.NewServer(v.server)
	v.client = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (v *vendor) stop() {
	v.server.Close()
	v.web.Close()
	_ = v.journal.Close()
}

// restart is what a kill and a new start leave: the journal's file alone.
func (v *vendor) restart() {
	v.t.Helper()
	v.stop()
	v.open()
}

// pay describes a line of tenant "acme".
type pay struct {
	emp, ref, amount, key string
	version               int
}

func (p pay) lineKey() string {
	if p.key != "" {
		return p.key
	}
	return "pl_acme_2026-07_" + hexHash([]byte(fmt.Sprint(p.emp, "|", p.ref, "|", max(1, p.version))))[:24]
}

func (p pay) json() string {
	amount := p.amount
	if amount == "" {
		amount = "1000.00"
	}
	ref := ""
	if p.ref != "" {
		ref = fmt.Sprintf(`"line_ref":%q,`, p.ref)
	}
	return fmt.Sprintf(`{"key":%q,"employee_id":%q,%s"line_version":%d,"gross_pay":%q,"currency":"USD","hours":"8"}`,
		p.lineKey(), p.emp, ref, max(1, p.version), amount)
}

func bodyOf(lines ...pay) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.json()
	}
	return `{"batch_key":"batch_2026-07_0011223344556677aabb","pay_period_id":"2026-07","lines":[` + strings.Join(texts, ",") + `]}`
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	items  []Result
}

// post sends a body; the error is the transport's or the body's.
func (v *vendor) post(body string, headers ...string) (reply, error) {
	request, err := http.NewRequest(http.MethodPost, v.web.URL+"/v1/payroll/lines", strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return v.send(request)
}

func (v *vendor) send(request *http.Request) (reply, error) {
	response, err := v.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	r := reply{status: response.StatusCode, header: response.Header, body: string(body)}
	var standard struct{ Results []Result }
	if json.NewDecoder(bytes.NewReader(body)).Decode(&standard) == nil {
		r.items = standard.Results
	}
	return r, err
}

// mustPost is post where nothing may go wrong on the wire.
func (v *vendor) mustPost(body string, headers ...string) reply {
	v.t.Helper()
	r, err := v.post(body, headers...)
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

func (v *vendor) get(path string) reply {
	v.t.Helper()
	request, err := http.NewRequest(http.MethodGet, v.web.URL+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := v.send(request)
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

// statuses of the items, in the answer's order.
func (r reply) statuses() []int {
	list := make([]int, len(r.items))
	for i, item := range r.items {
		list[i] = item.Status
	}
	return list
}

func (v *vendor) read() Contents {
	v.t.Helper()
	c, err := ReadJournal(v.cfg.Journal)
	if err != nil {
		v.t.Fatal(err)
	}
	return c
}

// effects counts the effects of an employee.
func (v *vendor) effects(employee string) int {
	n := 0
	for _, e := range v.read().Effects {
		if e.EmployeeID == employee {
			n++
		}
	}
	return n
}

func mustRates(t *testing.T, text string) FaultRates {
	t.Helper()
	rates, err := ParseFaultRates(text)
	if err != nil {
		t.Fatal(err)
	}
	return rates
}

func mustItemRates(t *testing.T, text string) FaultRates {
	t.Helper()
	rates, err := ParseItemFaultRates(text)
	if err != nil {
		t.Fatal(err)
	}
	return rates
}
