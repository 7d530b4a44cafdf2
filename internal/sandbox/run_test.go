package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRunServesUntilTheContextEnds(t *testing.T) {
	cfg := Config{Journal: filepath.Join(t.TempDir(), "j")}
	for i := range 2 { // the second run goes on where the first one ended
		ctx, cancel := context.WithCancel(t.Context())
		ready, done := make(chan net.Addr, 1), make(chan error, 1)
		go func() { done <- Run(ctx, cfg, func(a net.Addr) { ready <- a }) }()
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Post("http://"+(<-ready).String()+"/v1/payroll/lines", "application/json", strings.NewReader(bodyOf(pay{emp: "1"})))
		if err != nil || response.StatusCode != http.StatusOK {
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

// child starts a sandbox in a process of its own and says where it listens.
func child(t *testing.T, journal string) (address string, process *exec.Cmd) {
	t.Helper()
	process = exec.Command(os.Args[0])
	process.Env = append(os.Environ(), childJournal+"="+journal)
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	address, err = bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address), process
}

// What a killed sandbox has answered for is in its journal, and its successor
// knows it; callers keep it busy while it is killed.
func TestKilledSandboxKnowsWhatItAnsweredFor(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "j")
	var mu sync.Mutex
	answered := map[string]string{} // key: reference
	for round := range 3 {
		address, process := child(t, journal)
		enough := make(chan struct{}, 4)
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				for i := range 10000 {
					p := pay{emp: fmt.Sprint(caller, "-", i)}
					key, reference, err := payAt(address, p)
					if err != nil {
						return // killed
					}
					mu.Lock()
					if before, known := answered[key]; known && before != reference {
						t.Errorf("round %d: a payment has two references", round)
					}
					answered[key] = reference
					mu.Unlock()
					if i == 20*(round+1) {
						enough <- struct{}{}
					}
				}
			})
		}
		<-enough
		_ = process.Process.Kill()
		_ = process.Wait()
		callers.Wait()
	}
	c, err := ReadJournal(journal)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for _, e := range c.Effects {
		if made[e.Key] != "" {
			t.Error("paid twice")
		}
		made[e.Key] = e.Reference
	}
	for key, reference := range answered {
		if made[key] != reference {
			t.Errorf("answered %s, journal has %q", reference, made[key])
		}
	}
}

// payAt pays one line and returns its key and reference.
func payAt(address string, p pay) (key, reference string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	response, err := client.Post("http://"+address+"/v1/payroll/lines", "application/json", strings.NewReader(bodyOf(p)))
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	var standard struct{ Results []Result }
	if err := json.NewDecoder(response.Body).Decode(&standard); err != nil {
		return "", "", err
	}
	return standard.Results[0].Key, standard.Results[0].Reference, nil
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

func TestSystemClockPauses(t *testing.T) {
	clock := systemClock{}
	before := clock.Now()
	fired, stop := clock.After(5 * time.Millisecond)
	defer stop()
	<-fired
	if passed := clock.Now().Sub(before); passed < 5*time.Millisecond {
		t.Fatal(passed)
	}
}
