package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"
)

// clientCommand is a tenant's command that makes calls and shows what they give.
func clientCommand(env Env, use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
	return commandOf(forTenant, env, use, short, args, act)
}

// adminCommand is the same for what tenants share.
func adminCommand(env Env, use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
	return commandOf(forAdmin, env, use, short, args, act)
}

// action makes the calls of a command.
type action func(ctx context.Context, a *api, out *output, args []string) error

func commandOf(fallback developmentKey, env Env, use, short string, args cobra.PositionalArgs, act action) *cobra.Command {
	var out output
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		a, err := newAPI(env.Getenv, fallback)
		if err != nil {
			return err
		}
		return act(cmd.Context(), a, &out, args)
	}}
	out.define(cmd, env)
	return cmd
}

// maxListed bounds what a list keeps to lay out its columns; programs get
// every item as it comes.
const maxListed = 100_000

// collect reads a list to show it. With -o json it prints the items instead.
func collect[T any](ctx context.Context, a *api, out *output, path string, query url.Values, limit int) (list []T, err error) {
	if !out.json() && (limit == 0 || limit > maxListed) {
		limit = maxListed
	}
	err = each(ctx, a, path, query, limit, func(item T) error {
		if out.json() {
			return out.item(item)
		}
		list = append(list, item)
		return nil
	})
	return list, err
}
