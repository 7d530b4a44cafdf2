package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// inFlight is how many requests are on their way to the vendor at a time.
const inFlight = 8

// Options are what a run is given.
type Options struct {
	Postgres string    // URL of a role on a server that nobody else uses, which may make databases and checkpoints
	Gateway  string    // path of the gateway's binary
	Vendor   []string  // command that runs ServeVendor on its standard output
	Dir      string    // for files of the run; "" = the system's
	Sizes    Sizes     // how much work
	Only     []string  // names of experiments; none = all
	Progress io.Writer // is told what is being measured, and the result; nil = nobody
	// Profile is called before our side of the dispatch, and what it returns
	// after it, once a round; nil = no profile.
	Profile func() (stop func())
}

// lab is what the experiments share.
type lab struct {
	Options
	ctx       context.Context //nolint:containedctx // of the one run it lives for
	vendor    *process
	vendorURL string
	runs      int64 // pay runs made so far
}

// Run measures and returns the results in the order of the page. An experiment
// that fails ends the run; a target that is missed does not.
func Run(ctx context.Context, o Options) (results []Result, err error) {
	chosen, err := choose(o.Only)
	if err != nil {
		return nil, err
	}
	l, err := newLab(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, e := range chosen {
		l.say("%s ...\n", e.name)
		readings, err := e.run(l)
		if err != nil {
			return results, fmt.Errorf("%s: %w", e.name, err)
		}
		for i, r := range readings {
			results = append(results, Result{e.figures[i], r, e.name})
			l.say("%s", Line(results[len(results)-1]))
		}
	}
	return results, nil
}

func choose(names []string) ([]experiment, error) {
	for _, n := range names {
		if !slices.Contains(Experiments(), n) {
			return nil, fmt.Errorf("no experiment is called %q; there are %s", n, strings.Join(Experiments(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(experiments), func(e experiment) bool {
		return len(names) > 0 && !slices.Contains(names, e.name)
	}), nil
}

func newLab(ctx context.Context, o Options) (*lab, error) {
	l := &lab{Options: o, ctx: ctx}
	var err error
	if l.Dir, err = os.MkdirTemp(o.Dir, "gateway-bench-*"); err != nil {
		return nil, err
	}
	if l.vendor, err = start(ctx, o.Vendor...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.Dir))
	}
	address, err := l.vendor.stdout.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the vendor did not start: %w", err), l.close())
	}
	l.vendorURL = strings.TrimSpace(address)
	return l, nil
}

func (l *lab) close() error { return errors.Join(l.vendor.stop(), os.RemoveAll(l.Dir)) }

func (l *lab) say(format string, values ...any) {
	if l.Progress != nil {
		fmt.Fprintf(l.Progress, format, values...)
	}
}

// payRun names a pay run that there was not before: its keys are new to the ledger.
func (l *lab) payRun() (number int64, period string) {
	l.runs++
	return l.runs, fmt.Sprintf("P-%06d", l.runs)
}

// database makes a database for one experiment.
func (l *lab) database() (*database, error) { return newDatabase(l.ctx, l.Postgres) }
