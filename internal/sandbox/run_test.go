package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestRunServesUntilTheContextEnds(t *testing.T) {
	cfg := Config{Journal: filepath.Join(t.TempDir(), "j")}
	for i := range 2 { // the second run goes on where the first one ended
		ctx, cancel := context.WithCancel(t.Context())
		ready, done := make(chan net.Addr, 1), make(chan error, 1)
		go func() { done <- Run(ctx, cfg, func(a net.Addr) { ready <- a }) }()
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Post("http://"+(<-ready).String()+"/v1/payroll/lines", "application/json", strings.NewReader(bodyOf(pay{emp: "1"})))
		if err != nil || response.StatusCode != 200 {
			t.Fatal(response, err)
		}
		_ = response.Body.Close()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c, err := ReadJournal(cfg.Journal)
		if err != nil || len(c.Effects) != 1 || len(c.Requests) != i+1 {
			t.Fatalf("%+v, %v", c, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"a file name is needed": {},
		"loopback":              {Journal: filepath.Join(t.TempDir(), "j"), Listen: "192.0.2.1:0"},
		"no such file":          {Journal: filepath.Join(t.TempDir(), "missing", "j")},
	} {
		err := Run(t.Context(), cfg, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Many callers with overlapping lines: each line is paid once, whoever is
// first, and the journal's order is the order of the work.
func TestConcurrentCallers(t *testing.T) {
	v := start(t, Config{ItemFaults: mustItemRates(t, "503=0.2,500-after-commit=0.1,missing=0.1"), MaxFaultsPerLine: 2, Seed: 9})
	var lines []pay
	for i := range 30 {
		lines = append(lines, pay{emp: fmt.Sprint(i)})
	}
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for i := range 12 {
				from := (c*3 + i*5) % 20
				if _, err := v.post(bodyOf(lines[from : from+10]...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	v.mustPost(bodyOf(lines...))
	c := v.read()
	if len(c.Effects) != 30 || len(c.Requests) != 97 {
		t.Fatalf("%d effects, %d requests", len(c.Effects), len(c.Requests))
	}
	if got := v.figures(); got.PaidTwice != 0 || got.MaxInFlight > 8 || got.Cents["USD"] != "3000000" {
		t.Fatalf("%+v", got)
	}
}
