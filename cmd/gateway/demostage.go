package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// The files of the demo's directory.
const (
	journalFile = "vendor-journal.jsonl"
	ledgerFile  = "gateway.db"
	configFile  = "gateway.yaml"
	keysFile    = "keys.yaml"
	vendorsDir  = "vendors"
	gatewayLog  = "gateway.log"
	vendorLog   = "vendor.log"
)

// demoTenant is whose payroll it is.
const demoTenant = "city"

// demoPace is what the vendor allows in any second, and refuses beyond it.
const demoPace = 15

// demoProfile is the vendor as the gateway knows it. Its timeout is short, so
// that an attempt whose answer is lost is soon known to be over; the verb takes
// the address.
var demoProfile = fmt.Sprintf(`name: sandbox
revision: 1
base_url: %%s
submit: {path: /v1/payroll/lines, timeout: 1s, concurrency: 4, chunk: {min: 50, max: 100}}
idempotency: {scope: line, retention: 24h, conflict: done}
corrections: replace
rate: {requests: %d, per: 1s, headroom: 0.2}
lookup: standard
retry:
  vendor_error: {max_retries: 8, base: 200ms, cap: 2s}
  rate_limited: {max_retries: 20, base: 200ms, cap: 2s}
`, demoPace)

// misbehaviour is what the vendor does wrong. No line suffers more than five
// times, so that every line has an end.
var misbehaviour = []string{
	"--faults", "timeout-after-commit=0.04,reset-after-commit=0.03,429=0.04,503=0.03,500-after-commit=0.02,truncate=0.02",
	"--item-faults", "503=0.02,422=0.002,500-after-commit=0.005,missing=0.003",
	"--max-faults", "5",
	"--rate", fmt.Sprint(demoPace), "--per", "1s",
	"--retry-after", "1s", "--latency", "20ms", "--jitter", "60ms", "--max-hold", "5s",
}

// stage is where the demo plays: a directory and two processes.
type stage struct {
	demoOptions
	dir             string
	key             string
	vendor, gateway *child
	api             *api
	logs            []*os.File
	lastWords       string // the end of the gateway's log, when something failed
	kept            bool
}

func newStage(o demoOptions) (*stage, error) {
	s := &stage{demoOptions: o, dir: o.keep}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "payroll-gateway-demo-")
		s.dir = dir
		return s, err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	if err := makePrivate(s.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("--keep: %s is not empty", s.dir)
	}
	return s, err
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// openVendor starts the vendor and writes down for the gateway where it is.
func (s *stage) openVendor(ctx context.Context) (err error) {
	log, err := s.openLog(vendorLog)
	if err != nil {
		return err
	}
	args := append([]string{"--seed", fmt.Sprint(s.seed)}, misbehaviour...)
	if s.vendor, err = startSandbox(ctx, s.path(journalFile), log, args...); err != nil {
		return err
	}
	return s.writeConfig()
}

func (s *stage) writeConfig() error {
	key, r := newKey("demo", demoTenant, tenantScopes)
	s.key = key
	records, err := yaml.Marshal([]keyRecord{r})
	if err != nil {
		return err
	}
	config := fmt.Sprintf("listen: 127.0.0.1:0\nstore: sqlite://%s\nvendors: %s\nkeys: %s\n", ledgerFile, vendorsDir, keysFile)
	return errors.Join(
		os.MkdirAll(s.path(vendorsDir), 0o700),
		os.WriteFile(s.path(vendorsDir+"/sandbox.yaml"), fmt.Appendf(nil, demoProfile, s.vendor.url), 0o600),
		os.WriteFile(s.path(keysFile), records, 0o600),
		os.WriteFile(s.path(configFile), []byte(config), 0o600),
	)
}

// openGateway starts the gateway, the first time or again.
func (s *stage) openGateway(ctx context.Context) error {
	log, err := s.openLog(gatewayLog)
	if err != nil {
		return err
	}
	if s.gateway, err = startChild(ctx, log, "serve", "--config", s.path(configFile)); err != nil {
		return err
	}
	s.api = &api{base: s.gateway.url, key: s.key, http: newHTTPClient()}
	return nil
}

func (s *stage) openLog(name string) (*os.File, error) {
	f, err := os.OpenFile(s.path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		s.logs = append(s.logs, f)
	}
	return f, err
}

// leave ends both processes, and removes the directory unless it is to be kept
// or is evidence.
func (s *stage) leave(evidence bool) {
	for _, c := range []*child{s.gateway, s.vendor} {
		if c != nil {
			c.stop(10 * time.Second)
		}
	}
	for _, f := range s.logs {
		_ = f.Close()
	}
	s.lastWords = tail(s.path(gatewayLog), 5)
	s.kept = s.keep != "" || evidence
	if !s.kept {
		_ = os.RemoveAll(s.dir)
	}
}

// tail is the last lines of a file.
func tail(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// farewell says what is left behind.
func (s *stage) farewell(o *output) {
	if s.keep != "" {
		o.printf("Everything is in %s: the ledger, the vendor's journal, the configuration, the logs.\n", s.dir)
	}
}
