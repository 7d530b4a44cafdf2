package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"payrollgateway/internal/httpapi/apigen"
)

func batchesCommand(env Env) *cobra.Command {
	var limit int
	cmd := clientCommand(env, "batches", "List batches, the newest first", cobra.NoArgs,
		func(ctx context.Context, a *api, out *output, _ []string) error {
			list, err := collect[apigen.Batch](ctx, a, out, "/v1/batches", nil, limit)
			if err != nil || out.json() {
				return err
			}
			return out.table("batch,vendor,state,lines,settled,dead letters,open,created", func(row func(...any)) {
				for _, b := range list {
					row(b.BatchKey, b.Vendor, stateText(b), groupedInt(b.Total), groupedInt(b.Counts.Settled),
						groupedInt(b.Counts.DeadLettered), groupedInt(b.Total-ended(b)), shortTime(b.CreatedAt))
				}
			})
		})
	cmd.Flags().IntVar(&limit, "limit", 20, "how many; 0 = all")
	return cmd
}

func stateText(b apigen.Batch) string {
	if b.HoldReason != "" {
		return string(b.State) + " (" + string(b.HoldReason) + ")"
	}
	return string(b.State)
}

func shortTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
