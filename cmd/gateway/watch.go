package main

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"payrollgateway/internal/httpapi/apigen"
)

func watchCommand(env Env) *cobra.Command {
	cmd := clientCommand(env, "watch BATCH", "Follow a batch until it is at rest", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			return watch(ctx, a, out, args[0])
		})
	cmd.Long = "Follows a batch until every line is in an end state, then shows lines and amounts by state.\n\n" +
		"Exit status: 0 every line ended and no dead letter is open; 2 every line ended and dead letters are open;\n" +
		"3 the vendor's gate is suspended and waits for its release; 1 the batch could not be followed."
	return cmd
}

// How often a batch is looked at, and for how long a gateway may be away: it is
// restarted, and goes on.
const (
	watchEvery  = 250 * time.Millisecond
	watchWait   = 30 * time.Second
	goneForSure = time.Minute
)

// watch follows a batch and ends with what came of it, as an exit status.
func watch(ctx context.Context, a *api, out *output, key string) error {
	b, err := follow(ctx, a, key, out.progress(), atRest)
	if err != nil {
		return err
	}
	if out.json() {
		if err := out.item(b); err != nil {
			return err
		}
	} else if err := describeRest(out, b); err != nil {
		return err
	}
	if b.State == apigen.BatchStateSuspended {
		return &status{exitHeld, errors.New("the vendor's gate is suspended: see `gateway vendors show " + b.Vendor + "`, put the cause right, then `gateway vendors release`")}
	}
	return openLetters(ctx, a, out, b)
}

func atRest(b apigen.Batch) bool {
	return slices.Contains([]apigen.BatchState{apigen.BatchStateCompleted, apigen.BatchStateCancelled, apigen.BatchStateSuspended}, b.State)
}

// follow reads a batch again and again until it is as wanted, and shows its
// way there. A gateway that is away for a while is waited for.
func follow(ctx context.Context, a *api, key string, p progress, until func(apigen.Batch) bool) (apigen.Batch, error) {
	defer p.end()
	pause := time.NewTicker(watchEvery)
	defer pause.Stop()
	var last apigen.Batch
	etag, answered := "", time.Now()
	for {
		b, tag, same, err := a.batch(ctx, key, etag, watchWait)
		switch {
		case errors.Is(err, errUnreachable) && etag != "" && time.Since(answered) < goneForSure:
			p.away()
		case err != nil:
			return b, err
		case !same:
			last, etag = b, tag
			fallthrough
		default:
			answered = time.Now()
			p.show(last)
			if until(last) {
				return last, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-pause.C:
		}
	}
}

// describeRest shows lines and amounts by end state, and that they add up.
func describeRest(out *output, b apigen.Batch) error {
	currencies := make([]string, 0, len(b.Amounts))
	for c := range b.Amounts {
		currencies = append(currencies, c)
	}
	slices.Sort(currencies)
	out.printf("%s: %s\n", b.BatchKey, b.State)
	return out.table(strings.Join(append([]string{"state", "lines"}, currencies...), ","), func(row func(...any)) {
		for _, part := range partsOf(b) {
			cells := []any{part.name, groupedInt(part.lines)}
			for _, c := range currencies {
				cells = append(cells, grouped(part.amount(b.Amounts[c])))
			}
			if part.lines > 0 || part.name == "total" {
				row(cells...)
			}
		}
	})
}

// part is one row of a batch's table.
type part struct {
	name   string
	lines  int
	amount func(apigen.Amounts) apigen.Amount
}

func partsOf(b apigen.Batch) []part {
	c := b.Counts
	return []part{
		{"open", c.Pending + c.InFlight + c.Retrying + c.Unknown, func(a apigen.Amounts) apigen.Amount { return a.Open }},
		{"settled", c.Settled, func(a apigen.Amounts) apigen.Amount { return a.Settled }},
		{"dead_lettered", c.DeadLettered, func(a apigen.Amounts) apigen.Amount { return a.DeadLettered }},
		{"cancelled", c.Cancelled, func(a apigen.Amounts) apigen.Amount { return a.Cancelled }},
		{"superseded", c.Superseded, func(a apigen.Amounts) apigen.Amount { return a.Superseded }},
		{"total", b.Total, func(a apigen.Amounts) apigen.Amount { return a.Total }},
	}
}

// openLetters says whether the batch has dead letters for a person.
func openLetters(ctx context.Context, a *api, out *output, b apigen.Batch) error {
	if b.Counts.DeadLettered == 0 {
		return nil
	}
	open := 0
	query := url.Values{"batch_key": {b.BatchKey}, "status": {"open"}}
	err := each(ctx, a, "/v1/dead-letters", query, 1, func(apigen.DeadLetter) error { open++; return nil })
	if err != nil || open == 0 {
		return err
	}
	if !out.json() {
		out.printf("Dead letters are open: gateway dead-letters list --batch %s\n", b.BatchKey)
	}
	return &status{code: exitDeadLetters}
}
