package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func resumeCommand(env Env) *cobra.Command {
	cmd := clientCommand(env, "resume TOKEN", "Take up a batch at once whose worker is gone", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			token, err := uuid.Parse(args[0])
			if err != nil {
				return errors.New("TOKEN: must be a UUID, the token of a batch's resume_token")
			}
			t, got, err := a.resume(ctx, token)
			switch {
			case err != nil:
				return err
			case out.json():
				return out.raw(got)
			case got.status == http.StatusOK:
				out.printf("%s is complete: there is nothing to take up.\n", t.BatchKey)
			default:
				out.printf("%s is taken up; lines up to %s of %s had left the queue.\n", t.BatchKey, groupedInt(t.LastCursor), groupedInt(t.Total))
			}
			return nil
		})
	cmd.Long = "A batch whose worker has died goes on by itself once the worker's lock has run out. This takes it up now. The\n" +
		"token is the batch's resume_token; `gateway batches -o json` shows it."
	return cmd
}
