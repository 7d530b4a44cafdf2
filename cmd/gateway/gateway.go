package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/httpapi"
	"payrollgateway/internal/intake"
	"payrollgateway/internal/resume"
	"payrollgateway/internal/telemetry"
	"payrollgateway/internal/vendor"
)

// gateway is a running server, put together: what assemble opened, close
// closes.
type gateway struct {
	inputs
	env        Env
	log        *slog.Logger
	at         func(point string) // nil in the product
	storage    *storage
	now        func() time.Time
	sandbox    *child // nil: vendors are configured
	vendors    *vendors
	observer   observer
	ring       httpapi.KeyRing
	supervisor *resume.Supervisor
	letters    *batch.Letters
	replayer   *batch.Replayer
	listener   net.Listener
	server     *http.Server
	draining   atomic.Bool
	hurry      context.CancelFunc // a stop waits no longer
	hurried    <-chan struct{}
	greeting   string // the development key's line
}

// assemble puts a gateway together, from the store up to the listener.
func assemble(ctx context.Context, in inputs, env Env) (*gateway, error) {
	g := &gateway{inputs: in, env: env, log: telemetry.NewLogger(env.Stderr), at: failpoint(env.Getenv)}
	hurried, hurry := context.WithCancel(context.WithoutCancel(ctx))
	g.hurry, g.hurried = hurry, hurried.Done()
	for _, step := range []func(context.Context) error{
		g.openStore, g.prepareKeys, g.connectVendors, g.prepareEngine, g.listen,
	} {
		if err := step(ctx); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *gateway) openStore(ctx context.Context) (err error) {
	if g.storage, err = openStorage(ctx, g.Config); err != nil {
		return err
	}
	g.now, err = oneClock(ctx, g.storage)
	return err
}

// prepareKeys fills the ring: from the keys file, else with development keys.
func (g *gateway) prepareKeys(context.Context) error {
	if g.Keys != "" {
		g.replaceKeys(g.keys)
		return nil
	}
	if err := makePrivate(g.dataDir); err != nil {
		return err
	}
	var records []keyRecord
	for _, d := range []developmentKey{forTenant, forAdmin} {
		key, r, err := d.ensure(g.dataDir)
		if err != nil {
			return err
		}
		records = append(records, r)
		g.greeting += fmt.Sprintf("%-22s %s (kept in %s)\n", d.id+":", key, filepath.Join(g.dataDir, d.id))
	}
	g.replaceKeys(records)
	return nil
}

func (g *gateway) replaceKeys(records []keyRecord) {
	keys := make([]httpapi.Key, len(records))
	for i, r := range records {
		keys[i] = r.key()
	}
	g.ring.Replace(keys)
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// connectVendors makes the connections: to those configured, else to a sandbox
// of our own.
func (g *gateway) connectVendors(ctx context.Context) (err error) {
	g.observer = observer{metrics: telemetry.NewMetrics(ledger(g.storage, g.now)), log: g.log}
	profiles := g.profiles
	if profiles == nil {
		if err := makePrivate(g.dataDir); err != nil {
			return err
		}
		if g.sandbox, err = startSandbox(ctx, filepath.Join(g.dataDir, "sandbox-journal.jsonl"), g.env.Stderr); err != nil {
			return err
		}
		profiles = map[string]*vendor.Profile{"sandbox": builtinProfile(g.sandbox.url)}
	}
	if g.vendors, err = connect(ctx, profiles, g.storage, g.now, rand.Float64); err != nil {
		return err
	}
	for name, l := range g.vendors.links {
		g.observer.metrics.Gate(name, l.Limits.Gate().Snapshot().State.String())
	}
	return nil
}

// prepareEngine wires those who work: the supervisor of pay periods, the
// people's desk of dead letters, the replays.
func (g *gateway) prepareEngine(context.Context) error {
	engine := &batch.Engine{Store: g.storage, Now: g.now, Rand: rand.Float64, Observer: g.observer, Log: g.log, Failpoint: g.at}
	owner := ownerName()
	g.supervisor = resume.New(pointed(g.storage, g.at), resume.Config{
		Owner: owner, TTL: g.LockTTL, Workers: g.Workers, Drain: g.vendors.drain(), Hurry: g.hurried,
		Now: g.now, Log: g.log, Settle: g.vendors.settle,
		// This process holds the store for itself alone: nobody else lives.
		Gone: func(other string) bool { return other != owner },
		Task: func(l *resume.Lease) (resume.Task, error) {
			link, ok := g.vendors.links[l.Tenure().Unit.Vendor]
			if !ok {
				return nil, errors.New("the vendor is not configured any more")
			}
			return batch.NewRunner(engine, link, l), nil
		},
	})
	g.letters = &batch.Letters{Store: g.storage, Terms: g.vendors.terms, Now: g.now, Wake: g.supervisor.Wake}
	g.replayer = &batch.Replayer{Store: g.storage, Replay: g.letters.Replay, Now: g.now, Poll: time.Second, Log: g.log}
	return nil
}

// ownerName names this process's incarnation, once and for ever.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), uuid.NewString())
}

// listen makes the API and takes the port. Nothing is answered yet.
func (g *gateway) listen(ctx context.Context) error {
	handler, err := httpapi.New(httpapi.Config{
		Reader: g.storage, Operations: g.storage, Gates: g.storage, Resumer: g.supervisor, Vendors: g.vendors, Keys: &g.ring,
		Submitter: submitter{g.intake(), g.storage, g.observer}, Letters: letters{g.letters},
		Ready: g.ready, Draining: g.draining.Load,
		Metrics: g.observer.metrics.Handler(), Observe: g.observer.metrics.HTTP, Now: g.now, Log: g.log,
	})
	if err != nil {
		return err
	}
	g.server = httpapi.NewServer(handler, g.log)
	g.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", g.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

func (g *gateway) intake() *intake.Service {
	return &intake.Service{Store: g.storage, Vendor: g.vendors.forIntake, Known: g.vendors.Names}
}

// readyWithin bounds what a look at the readiness may cost.
const readyWithin = 2 * time.Second

// ready says whether a request can be taken now.
func (g *gateway) ready(ctx context.Context) (ok bool, causes []string) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := g.storage.Ping(ctx); err != nil {
		g.log.Warn("the store cannot take a write", "error", err)
		return false, []string{"the store cannot take a write"}
	}
	return true, nil
}

// close gives back what assemble took, in the opposite order.
func (g *gateway) close() {
	g.hurry()
	if g.listener != nil {
		_ = g.listener.Close()
	}
	if g.vendors != nil {
		g.vendors.close()
	}
	if g.sandbox != nil {
		g.sandbox.stop(stopWithin)
	}
	if g.storage != nil {
		if err := g.storage.Close(); err != nil {
			g.log.Error("the store was not closed in good order", "error", err)
		}
	}
}

// announce tells a person where the gateway is and how to talk to it.
func (g *gateway) announce(w io.Writer) {
	url := "http://" + g.listener.Addr().String()
	fmt.Fprintf(w, "payroll gateway on %s, documentation at %s/docs\n%s", url, url, g.greeting)
	if g.sandbox != nil {
		fmt.Fprintf(w, "no vendors are configured: \"sandbox\" pays nobody, at %s\n", g.sandbox.url)
	}
}
