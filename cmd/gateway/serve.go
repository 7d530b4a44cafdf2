package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func serveCommand(env Env) *cobra.Command {
	var f configFlags
	var child bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: "Runs the gateway until SIGTERM or SIGINT, at which it takes no new work, finishes what is in flight and ends;\n" +
			"a second one ends it at once, which loses nothing. SIGHUP reads the keys again.\n\n" +
			"Without configuration it runs on loopback, with SQLite and a development key in the data directory, and pays\n" +
			"through a sandbox vendor. Settings: flag before GATEWAY_<KEY> before file before default.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := f.read(env.Getenv)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if child {
				ctx = untilClosed(ctx, env.Stdin)
			}
			return serve(ctx, in, env)
		},
	}
	f.define(cmd)
	cmd.Flags().BoolVar(&child, withParent, false, "end when standard input ends")
	_ = cmd.Flags().MarkHidden(withParent)
	return cmd
}

func serve(ctx context.Context, in inputs, env Env) error {
	g, err := assemble(ctx, in, env)
	if err != nil {
		return err
	}
	defer g.close()
	g.announce(env.Stdout)
	return g.run(ctx)
}

// errLockLost ends a gateway that may not be alone any more.
var errLockLost = errors.New("the store's session lock is lost, and another replica may have started: nothing more is sent")

// run works until ctx ends or a part of the gateway fails, then drains: it
// takes no new work, finishes what is in flight, gives the rest back.
func (g *gateway) run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	drained := make(chan struct{})
	parts.Go(g.answer)
	parts.Go(func() error { return g.work(ctx, drained) })
	parts.Go(func() error { return g.replayer.Run(ctx) })
	parts.Go(func() error { return g.noteStop(ctx) })
	parts.Go(func() error { return g.listenToSignals(ctx, drained) })
	parts.Go(func() error { return g.watchLock(ctx) })
	parts.Go(func() error { return g.watchSandbox(ctx) })
	err := parts.Wait()
	g.log.Info("stopped")
	return err
}

// answer serves the API until work shuts it down.
func (g *gateway) answer() error {
	if err := g.server.Serve(g.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the API ended: %w", err)
	}
	return nil
}

// shutdownWithin is how long answers under way may take once the work is done.
const shutdownWithin = 5 * time.Second

// work works on pay periods until ctx ends and the drain is over. The API
// answers until then: people may want to see how far it is.
func (g *gateway) work(ctx context.Context, drained chan<- struct{}) error {
	g.log.Info("started", "address", g.listener.Addr().String())
	err := g.supervisor.Run(ctx)
	close(drained)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWithin)
	defer cancel()
	if late := g.server.Shutdown(limited); late != nil {
		g.log.Warn("some requests were cut off", "error", late)
		_ = g.server.Close()
	}
	return err
}

// noteStop makes the API refuse new work as soon as the gateway stops.
func (g *gateway) noteStop(ctx context.Context) error {
	<-ctx.Done()
	g.draining.Store(true)
	g.log.Info("stopping: no new work is taken", "cause", context.Cause(ctx), "drain", g.vendors.drain().String())
	if g.at != nil {
		g.at("stopping")
	}
	return nil
}

// listenToSignals reads the keys again on SIGHUP. Once the gateway is stopping,
// one more SIGINT or SIGTERM hurries it.
func (g *gateway) listenToSignals(ctx context.Context, drained <-chan struct{}) error {
	hangups, again := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	defer signal.Stop(again)
	stopping := ctx.Done()
	for {
		select {
		case <-drained:
			return nil
		case <-hangups:
			g.rereadKeys()
		case <-stopping:
			stopping = nil
			signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		case <-again:
			g.log.Warn("told to stop twice: what is in flight is left to the next start")
			g.hurry()
		}
	}
}

// rereadKeys takes the keys of the file. One with a fault changes nothing.
func (g *gateway) rereadKeys() {
	if g.Keys == "" {
		g.log.Info("SIGHUP: no keys file is configured")
		return
	}
	records, err := readKeys(g.Keys)
	if err != nil {
		g.log.Error("the keys file has faults: the old keys stay in use", "error", err)
		return
	}
	g.replaceKeys(records)
	g.log.Info("keys read again", "keys", len(records))
}

// watchLock stops everything at once when the store's lock is lost.
func (g *gateway) watchLock(ctx context.Context) error {
	select {
	case <-g.storage.lost: // nil for an embedded store: never
		g.hurry()
		return errLockLost
	case <-ctx.Done():
		return nil
	}
}

// watchSandbox ends the gateway when its own sandbox vendor died.
func (g *gateway) watchSandbox(ctx context.Context) error {
	if g.sandbox == nil {
		return nil
	}
	select {
	case <-g.sandbox.done:
		return fmt.Errorf("the sandbox vendor ended (%w): start the gateway again", g.sandbox.err)
	case <-ctx.Done():
		return nil
	}
}
