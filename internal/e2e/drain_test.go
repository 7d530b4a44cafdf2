package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/sandbox"
)

// slowVendor takes its time over every request.
var slowVendor = kind{
	name: "slow", sandbox: sandbox.Config{Latency: 1500 * time.Millisecond},
	profile: "submit: {path: /v1/payroll/lines, timeout: 10s, concurrency: 4, chunk: {min: 5, max: 10}}\nidempotency: {scope: line, retention: 1h}\n",
}

// silentVendor pays and does not answer.
var silentVendor = kind{
	name: "silent", sandbox: sandbox.Config{Faults: requestFaults("timeout-after-commit=1"), MaxFaultsPerLine: 1},
	profile: "submit: {path: /v1/payroll/lines, timeout: 20s, concurrency: 4, chunk: {min: 5, max: 10}}\nidempotency: {scope: line, retention: 1h}\n",
}

func requestFaults(text string) sandbox.FaultRates {
	rates, err := sandbox.ParseFaultRates(text)
	if err != nil {
		panic(err)
	}
	return rates
}

// TestDrain: told to stop, the gateway takes no new work and says so, answers
// who asks how far it is, finishes what is in flight, and gives back the rest.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, l := range ledgers {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, slowVendor, l)
			p.post(200)
			g := p.start("")
			p.untilSettled(10)
			g.signal(syscall.SIGTERM)
			p.untilDraining()
			status, text := p.ask(http.MethodPost, "/v1/batches?vendor=acme&pay_period_id=Q&run_attempt_group=1&currency=USD", "text/csv", "employee_id,line_version,gross_pay\nE1,1,1\n")
			if status != http.StatusServiceUnavailable || !strings.Contains(text, `"draining"`) {
				t.Errorf("a batch was answered %d: %s", status, text)
			}
			if _, ok := p.look(0); !ok {
				t.Error("the batch cannot be looked at any more")
			}
			if code := g.wait(); code != 0 {
				t.Errorf("exit status %d\n%s", code, g.log)
			}
			p.autopsy()
			p.withLedger(p.nothingIsOpen)
			p.start("")
			p.finish()
		})
	}
}

// untilDraining waits until the gateway says that it is not ready any more.
func (p *plant) untilDraining() {
	p.Helper()
	look, late := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		if status, text := p.ask(http.MethodGet, "/readyz", "", ""); status == http.StatusServiceUnavailable && strings.Contains(text, `"draining"`) {
			return
		}
		select {
		case <-look.C:
		case <-late:
			p.Fatalf("it does not drain\n%s", p.alive.log)
		}
	}
}

// nothingIsOpen: after a drain no request's fate is unknown and nobody holds
// the pay period.
func (p *plant) nothingIsOpen() {
	p.Helper()
	for _, t := range p.batches() {
		open, err := p.store.OpenAttempts(p.Context(), t.Batch.ID)
		p.must(err)
		if len(open) > 0 {
			p.Errorf("%d requests were left without a fate", len(open))
		}
	}
	units, err := p.store.Claimable(p.Context(), time.Now(), time.Hour, 10)
	p.must(err)
	if len(units) != 1 {
		p.Errorf("%d pay periods are free to take, not the one", len(units))
	}
}

// TestTheSecondSignalHurries: who is told twice does not wait for a vendor
// that withholds its answer, and loses nothing by it.
func TestTheSecondSignalHurries(t *testing.T) {
	t.Parallel()
	p := newPlant(t, silentVendor, ledgers[0])
	p.post(20)
	g := p.start("")
	p.untilInFlight()
	began := time.Now()
	g.signal(syscall.SIGTERM)
	p.untilDraining()
	g.signal(syscall.SIGTERM)
	if code := g.wait(); code != 0 {
		t.Errorf("exit status %d\n%s", code, g.log)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s to end", took)
	}
	p.autopsy()
	p.start("")
	p.finish()
}

func (p *plant) untilInFlight() {
	p.Helper()
	look, late := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer look.Stop()
	for {
		if s, ok := p.look(0); ok && s.Counts["in_flight"] > 0 {
			return
		}
		select {
		case <-look.C:
		case <-late:
			p.Fatalf("nothing is sent\n%s", p.alive.log)
		}
	}
}

// TestALostSessionLockStopsTheGateway: a gateway that may not be alone any more
// sends nothing more and ends with a failure.
func TestALostSessionLockStopsTheGateway(t *testing.T) {
	t.Parallel()
	p := newPlant(t, slowVendor, ledgers[1])
	p.post(100)
	g := p.start("")
	p.untilInFlight()
	p.endSessionLock()
	if code := g.wait(); code != 1 || !strings.Contains(g.log.String(), "session lock is lost") {
		t.Errorf("exit status %d\n%s", code, g.log)
	}
	p.autopsy()
	p.start("")
	p.finish()
}

// endSessionLock terminates the session that holds an advisory lock.
func (p *plant) endSessionLock() {
	p.Helper()
	conn, err := pgx.Connect(p.Context(), p.url)
	p.must(err)
	defer func() { _ = conn.Close(p.Context()) }()
	_, err = conn.Exec(p.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	p.must(err)
}

// TestASecondGatewayIsRefused: without coordination between replicas only one
// may work with a store.
func TestASecondGatewayIsRefused(t *testing.T) {
	t.Parallel()
	for _, l := range ledgers {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, kinds[0], l)
			first := p.start("")
			second := p.start("")
			if code := second.wait(); code != 1 || !strings.Contains(second.log.String(), "another") {
				t.Errorf("exit status %d\n%s", code, second.log)
			}
			first.signal(syscall.SIGTERM)
			if code := first.wait(); code != 0 {
				t.Errorf("the first one ended with status %d\n%s", code, first.log)
			}
		})
	}
}
