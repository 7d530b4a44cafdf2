package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"payrollgateway/internal/httpapi/apigen"
)

func vendorsCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "vendors", Short: "Look at vendors and their gates, and release a suspended one", Args: cobra.NoArgs}
	list := clientCommand(env, "list", "List vendors", cobra.NoArgs, func(ctx context.Context, a *api, out *output, _ []string) error {
		var p apigen.VendorPage
		got, err := a.get(ctx, "/v1/vendors", &p)
		if err != nil {
			return err
		}
		if out.json() {
			return out.raw(got)
		}
		return out.table("vendor,gate,reason,rate,in flight,chunk", func(row func(...any)) {
			for _, v := range p.Items {
				for _, g := range v.Gates {
					row(v.Name, g.State, g.Reason, ratesText(v.Rates), v.Concurrency, fmt.Sprintf("%d-%d", v.Chunk.Min, v.Chunk.Max))
				}
			}
		})
	})
	show := clientCommand(env, "show NAME", "Look at one", cobra.ExactArgs(1), func(ctx context.Context, a *api, out *output, args []string) error {
		var v apigen.Vendor
		got, err := a.get(ctx, vendorPath(args[0]), &v)
		return showVendor(out, got, v, err)
	})
	cmd.AddCommand(list, show, releaseCommand(env))
	return cmd
}

func releaseCommand(env Env) *cobra.Command {
	var order apigen.ReleaseOrder
	cmd := adminCommand(env, "release NAME", "Release a suspended gate, once its cause is put right", cobra.ExactArgs(1),
		func(ctx context.Context, a *api, out *output, args []string) error {
			var v apigen.Vendor
			got, err := a.post(ctx, vendorPath(args[0])+"/release", order, &v)
			return showVendor(out, got, v, err)
		})
	cmd.Flags().StringVar(&order.Note, "note", "", "what was put right; it is recorded")
	_ = cmd.MarkFlagRequired("note")
	return cmd
}

func vendorPath(name string) string { return "/v1/vendors/" + url.PathEscape(name) }

func showVendor(out *output, got answer, v apigen.Vendor, err error) error {
	if err != nil {
		return err
	}
	if out.json() {
		return out.raw(got)
	}
	out.printf("%s, revision %d: %s, at most %d requests in flight, %d to %d lines each\n",
		v.Name, v.Revision, ratesText(v.Rates), v.Concurrency, v.Chunk.Min, v.Chunk.Max)
	out.printf("pays %s to %s\n", grouped(v.Limits.MinAmount), grouped(v.Limits.MaxAmount))
	for _, g := range v.Gates {
		out.printf("gate %s: %s since %s", g.Connection, g.State, shortTime(g.Since))
		if g.Reason != "" {
			out.printf(", %s", g.Reason)
		}
		if !g.Until.IsZero() {
			out.printf(", until %s", shortTime(g.Until))
		}
		out.printf("\n")
	}
	return nil
}

func ratesText(rates []apigen.Rate) string {
	texts := make([]string, len(rates))
	for i, r := range rates {
		texts[i] = fmt.Sprintf("%d per %g s", r.Requests, r.PerSeconds)
	}
	return strings.Join(texts, " and ")
}
