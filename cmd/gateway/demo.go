package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"payrollgateway/examples"
	"payrollgateway/internal/httpapi/apigen"
)

// demoOptions are the flags of the demo.
type demoOptions struct {
	keep string
	seed uint64
}

func demoCommand(env Env) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Pay 18,067 real lines at a misbehaving vendor, be killed on the way, carry on, and prove it to the cent",
		Long: "Starts the gateway (SQLite) and the sandbox vendor as processes of their own on loopback, posts a city's payroll,\n" +
			"kills the gateway with SIGKILL when a third is paid, starts it again, resumes the batch through the API, and\n" +
			"compares the ledger with the vendor's journal. Exit status 1 if anything does not add up.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), env, o)
		},
	}
	cmd.Flags().StringVar(&o.keep, "keep", "", "directory to keep everything in (default: a temporary one, removed)")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "decides when the vendor misbehaves")
	return cmd
}

// demoLimit is how long the demo may take in all: it is stopped then.
const demoLimit = 5 * time.Minute

// demo is a demonstration under way.
type demo struct {
	output
	stage *stage
	batch apigen.Batch
	began time.Time
}

func runDemo(ctx context.Context, env Env, o demoOptions) error {
	ctx, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	s, err := newStage(o)
	if err != nil {
		return err
	}
	d := &demo{output: output{w: env.Stdout}, stage: s, began: time.Now()}
	err = d.play(ctx)
	var wrong *doesNotAddUp
	s.leave(errors.As(err, &wrong))
	if err != nil && wrong == nil {
		return fmt.Errorf("%w\n%s", err, s.lastWords)
	}
	return err
}

// play goes through the acts. A failure ends it.
func (d *demo) play(ctx context.Context) error {
	acts := []struct {
		title string
		act   func(context.Context) error
	}{
		{"A payroll vendor and the gateway start, each as a process of its own", d.start},
		{"A pay period is posted: examples/city-payroll.csv", d.submit},
		{"It is paid, at a vendor that answers 207, 429, 503 and 500, or pays and does not answer", d.payAThird},
		{"kill -9", d.kill},
		{"The gateway starts again, and the batch is resumed through the API", d.resume},
		{"The ledger against the vendor's journal", d.reconcile},
	}
	for i, a := range acts {
		d.printf("\n%d/%d  %s\n", i+1, len(acts), a.title)
		if err := a.act(ctx); err != nil {
			return err
		}
	}
	d.printf("\nIt all adds up, after %.0f s and one kill -9.\n", time.Since(d.began).Seconds())
	d.stage.farewell(&d.output)
	return nil
}

func (d *demo) start(ctx context.Context) error {
	if err := d.stage.openVendor(ctx); err != nil {
		return err
	}
	d.printf("     vendor   %s, pid %d, journal %s\n", d.stage.vendor.url, d.stage.vendor.cmd.Process.Pid, d.stage.path(journalFile))
	return d.startGateway(ctx)
}

func (d *demo) startGateway(ctx context.Context) error {
	if err := d.stage.openGateway(ctx); err != nil {
		return err
	}
	d.printf("     gateway  %s, pid %d, ledger %s\n", d.stage.gateway.url, d.stage.gateway.cmd.Process.Pid, d.stage.path(ledgerFile))
	return nil
}

// demoRun is the envelope of the demo's batch.
var demoRun = url.Values{
	"vendor": {"sandbox"}, "pay_period_id": {"2026-07"}, "run_attempt_group": {"1"}, "currency": {"USD"},
}

func (d *demo) submit(ctx context.Context) error {
	file, err := readTotals(examples.CityPayroll)
	if err != nil {
		return err
	}
	query := url.Values{"control_totals.lines": {fmt.Sprint(file.lines)}, "control_totals.gross_pay": {file.amount.String()}}
	for name, value := range demoRun {
		query[name] = value
	}
	began := time.Now()
	_, err = d.stage.api.do(ctx, call{
		method: http.MethodPost, path: "/v1/batches?" + query.Encode(),
		header: http.Header{"Content-Type": {"text/csv"}}, body: bytes.NewReader(examples.CityPayroll), within: uploadWithin,
	}, &d.batch)
	if err != nil {
		return err
	}
	d.printf("     %s lines, %s USD, accepted after %.1f s as %s\n", groupedInt(file.lines), grouped(file.amount.String()), time.Since(began).Seconds(), d.batch.BatchKey)
	d.printf("     %d rows are outside the limits of a payment and are dead letters from the start\n", d.batch.Counts.DeadLettered)
	return nil
}

func (d *demo) payAThird(ctx context.Context) error {
	return d.follow(ctx, func(b apigen.Batch) bool { return 3*b.Counts.Settled >= b.Total })
}

func (d *demo) follow(ctx context.Context, until func(apigen.Batch) bool) (err error) {
	p := d.progress()
	if t, ok := p.(*ticks); ok {
		t.every = 2 * time.Second
	}
	d.batch, err = follow(ctx, d.stage.api, d.batch.BatchKey, p, func(b apigen.Batch) bool { return until(b) || atRest(b) })
	return err
}

func (d *demo) kill(context.Context) error {
	d.stage.gateway.kill()
	d.printf("     pid %d is gone in mid-run, with %s of %s lines settled and %s at the vendor or in doubt\n",
		d.stage.gateway.cmd.Process.Pid, groupedInt(d.batch.Counts.Settled), groupedInt(d.batch.Total), groupedInt(d.batch.Counts.InFlight+d.batch.Counts.Unknown))
	return nil
}

func (d *demo) resume(ctx context.Context) error {
	if err := d.startGateway(ctx); err != nil {
		return err
	}
	token := d.batch.ResumeToken.Token
	t, got, err := d.stage.api.resume(ctx, token)
	if err != nil {
		return err
	}
	d.printf("     POST /v1/resume-tokens/%s/resume: %d, epoch %d, last cursor %s\n", token, got.status, t.Epoch, groupedInt(t.LastCursor))
	return d.follow(ctx, atRest)
}

// reconcile reads everything back and judges it.
func (d *demo) reconcile(ctx context.Context) error {
	a, err := audit(ctx, d.stage, d.batch)
	if err != nil {
		return err
	}
	a.show(&d.output)
	if faults := a.faults(); len(faults) > 0 {
		return &doesNotAddUp{faults}
	}
	return nil
}

// doesNotAddUp is what nobody wants to see.
type doesNotAddUp struct{ faults []string }

func (e *doesNotAddUp) Error() string {
	text := "it does not add up:"
	for _, f := range e.faults[:min(len(e.faults), shownFaults)] {
		text += "\n  " + f
	}
	return text
}

// knownNames makes a stable list of a count by name.
func knownNames(counts map[string]int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	return names
}
