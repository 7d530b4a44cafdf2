package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"payrollgateway/internal/httpapi/apigen"
)

func deadLettersCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "dead-letters", Short: "List, show, replay and close dead letters", Args: cobra.NoArgs}
	cmd.AddCommand(letterListCommand(env), letterShowCommand(env), letterReplayCommand(env), letterCloseCommand(env))
	return cmd
}

// letterFilters are the flags that filter a list, by query parameter.
var letterFilters = []struct{ parameter, flag, usage, usual string }{
	{"batch_key", "batch", "of this batch", ""},
	{"status", "status", "open, replayed or closed; all for every one", "open"},
	{"reason_code", "reason", "such as vendor_rejected", ""},
	{"failure_class", "class", "transient, permanent or unknown", ""},
	{"source_stage", "stage", "intake, send, response or resolve", ""},
	{"vendor", "vendor", "of this vendor", ""},
}

func letterListCommand(env Env) *cobra.Command {
	filter := map[string]*string{}
	var limit int
	cmd := clientCommand(env, "list", "List dead letters, the oldest first", cobra.NoArgs,
		func(ctx context.Context, a *api, out *output, _ []string) error {
			query := url.Values{}
			for parameter, value := range filter {
				if *value != "" && (parameter != "status" || *value != "all") {
					query.Set(parameter, *value)
				}
			}
			list, err := collect[apigen.DeadLetter](ctx, a, out, "/v1/dead-letters", query, limit)
			if err != nil || out.json() {
				return err
			}
			return out.table("id,row,employee,amount,status,reason,last error", func(row func(...any)) {
				for _, l := range list {
					row(l.ID, l.Ordinal, l.EmployeeID, amountText(l), l.Status, l.ReasonCode, shorten(l.LastError, 60))
				}
			})
		})
	for _, f := range letterFilters {
		filter[f.parameter] = cmd.Flags().String(f.flag, f.usual, f.usage)
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many; 0 = all")
	return cmd
}

func letterShowCommand(env Env) *cobra.Command {
	return clientCommand(env, "show ID", "Look at one, with every request that carried it", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			path, err := letterPath(args[0], "")
			if err != nil {
				return err
			}
			var l apigen.DeadLetter
			got, err := a.get(ctx, path, &l)
			if err != nil {
				return err
			}
			return showLetter(out, got, l)
		})
}

// letterPath refuses what is no id before anything is asked.
func letterPath(id, action string) (string, error) {
	u, err := uuid.Parse(id)
	if err != nil {
		return "", errors.New("ID: must be a UUID, the id of a dead letter")
	}
	return "/v1/dead-letters/" + u.String() + action, nil
}

func showLetter(out *output, got answer, l apigen.DeadLetter) error {
	if out.json() {
		return out.raw(got)
	}
	out.printf("%s: %s, %s (%s, %s)\n", l.ID, l.Status, l.ReasonCode, l.FailureClass, l.SourceStage)
	out.printf("row %d of %s, employee %s, %s\n", l.Ordinal, l.BatchKey, l.EmployeeID, amountText(l))
	out.printf("last error: %s\n", l.LastError)
	if l.History != nil {
		for _, h := range *l.History {
			out.printf("  %s %s: %s", shortTime(h.SentAt), h.Kind, h.Verdict)
			if h.HTTPStatus != 0 {
				out.printf(" (status %d)", h.HTTPStatus)
			}
			out.printf(" %s\n", h.Detail)
		}
	}
	if l.ClosedAs != "" {
		out.printf("closed as %s by %s: %s\n", l.ClosedAs, l.ClosedBy, l.Note)
	}
	if l.AllowedActions != nil && len(*l.AllowedActions) > 0 {
		out.printf("what can be done: %s\n", joinText(*l.AllowedActions))
	}
	return nil
}

func letterReplayCommand(env Env) *cobra.Command {
	var order apigen.ReplayOrder
	var cutoff string
	cmd := clientCommand(env, "replay ID", "Send the line again, under its old key", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			path, err := letterPath(args[0], "/replay")
			if err != nil {
				return err
			}
			if order.CutoffAt, err = parseCutoff(cutoff); err != nil {
				return err
			}
			var done apigen.ReplayOutcome
			got, err := a.post(ctx, path, order, &done)
			if err != nil {
				return err
			}
			if out.json() {
				return out.raw(got)
			}
			out.printf("%s: follow %s\n", strings.ReplaceAll(string(done.Outcome), "_", " "), done.BatchKey)
			return nil
		})
	cmd.Flags().StringVar(&order.AttestNotPaid.Evidence, "attest-not-paid", "", "how you know that the vendor did not pay it")
	cmd.Flags().StringVar(&cutoff, "cutoff", "", "a new cut-off, such as 2026-07-17T18:00:00-04:00")
	cmd.Flags().StringVar(&order.RootCause, "root-cause", "", "a tag for your statistics")
	return cmd
}

func parseCutoff(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, errors.New("--cutoff: must be a time with an offset, such as 2026-07-17T18:00:00-04:00")
	}
	return t, nil
}

func letterCloseCommand(env Env) *cobra.Command {
	var order apigen.CloseOrder
	var reason string
	cmd := clientCommand(env, "close ID", "Record how the matter was settled without another send", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			path, err := letterPath(args[0], "/close")
			if err != nil {
				return err
			}
			order.Reason = apigen.CloseReason(reason)
			var l apigen.DeadLetter
			got, err := a.post(ctx, path, order, &l)
			if err != nil {
				return err
			}
			return showLetter(out, got, l)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "written_off, paid_outside, corrected or resubmitted")
	cmd.Flags().StringVar(&order.AttestPaid.Evidence, "attest-paid", "", "how you know that the vendor paid it; instead of --reason")
	cmd.Flags().StringVar(&order.Note, "note", "", "for those who read it later")
	cmd.Flags().StringVar(&order.RootCause, "root-cause", "", "a tag for your statistics")
	cmd.MarkFlagsOneRequired("reason", "attest-paid")
	_ = cmd.MarkFlagRequired("note")
	return cmd
}

func amountText(l apigen.DeadLetter) string {
	if l.GrossPay == "" {
		return "?"
	}
	return grouped(l.GrossPay) + " " + l.Currency
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%s…", string(runes[:most-1]))
	}
	return text
}
