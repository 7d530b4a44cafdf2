package main

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"payrollgateway/internal/sandbox"
)

// sandboxCommand is the sandbox vendor as a process of its own.
func sandboxCommand(env Env) *cobra.Command {
	c := sandbox.Config{Listen: "127.0.0.1:9090"}
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run a payroll vendor for integration work, which misbehaves on request",
		Long: "A vendor that keeps a journal of what it paid, honours keys, and misbehaves on request: by magic employee\n" +
			"ids (sandbox.503x2.anna) and by the flags below. See docs/sandbox.md.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.apply(&c); err != nil {
				return err
			}
			ctx := cmd.Context()
			if f.withParent {
				ctx = untilClosed(ctx, env.Stdin)
			}
			return sandbox.Run(ctx, c, func(a net.Addr) {
				fmt.Fprintf(env.Stdout, "sandbox vendor on http://%s, journal %s\n", a, c.Journal)
			})
		},
	}
	f.define(cmd, &c)
	return cmd
}

// sandboxFlags are the flags that need reading.
type sandboxFlags struct {
	faults, itemFaults, lookUpFaults string
	keys, scope, stores, corrections string
	withParent                       bool
}

func (f *sandboxFlags) define(cmd *cobra.Command, c *sandbox.Config) {
	fl := cmd.Flags()
	fl.StringVar(&c.Listen, "listen", c.Listen, "loopback address")
	fl.StringVar(&c.Journal, "journal", "sandbox-journal.jsonl", "file of everything read and paid")
	fl.StringVar(&c.Path, "path", "", "where lines are posted (default /v1/payroll/lines)")
	fl.StringVar(&c.Token, "token", "", "bearer token to demand")
	fl.StringVar(&f.keys, "keys", "", "honour or ignore idempotency keys (default honour)")
	fl.StringVar(&f.scope, "key-scope", "", "line or request (default line)")
	fl.StringVar(&c.KeyHeader, "key-header", "", "header of a request key (default Idempotency-Key)")
	fl.DurationVar(&c.KeyRetention, "key-retention", 0, "how long a key is remembered; 0 = for ever")
	fl.StringVar(&f.stores, "stores", "", "success or all: what is remembered under a key")
	fl.BoolVar(&c.RememberMixed, "remember-mixed", false, "remember mixed answers of a request key")
	fl.IntVar(&c.DuplicateStatus, "duplicate-status", 0, "item status of a key seen before: 200, 208, 409")
	fl.StringVar(&f.corrections, "corrections", "", "replace or append (default replace)")
	fl.BoolVar(&c.NoLookUp, "no-look-up", false, "no look-up")
	fl.DurationVar(&c.LookUpLag, "look-up-lag", 0, "how long a payment stays invisible to look-ups")
	fl.BoolVar(&c.Atomic, "atomic", false, "one bad line refuses the whole request with 400")
	fl.BoolVar(&c.ShuffleItems, "shuffle", false, "answer items in another order")
	fl.IntVar(&c.MaxLines, "max-lines", 0, "most lines of a request (default 1000)")
	fl.StringVar(&c.MinAmount, "min-amount", "", "lower amounts are refused")
	fl.StringVar(&c.MaxAmount, "max-amount", "", "higher amounts are refused")
	fl.IntVar(&c.RateLimit.Requests, "rate", 0, "requests allowed per --per; 0 = no limit")
	fl.DurationVar(&c.RateLimit.Per, "per", time.Second, "window of --rate")
	fl.Uint64Var(&c.Seed, "seed", 0, "decides when faults strike")
	fl.StringVar(&f.faults, "faults", "", "rates of request faults, such as 429=0.05,reset-after-commit=0.02")
	fl.StringVar(&f.itemFaults, "item-faults", "", "rates of item faults, such as 503=0.02,422=0.004")
	fl.StringVar(&f.lookUpFaults, "look-up-faults", "", "rates of look-up faults")
	fl.IntVar(&c.MaxFaultsPerLine, "max-faults", 0, "drawn faults one line suffers before it is treated well; 0 = no bound")
	fl.DurationVar(&c.RetryAfter, "retry-after", 0, "hint of 429 and 503 (default 1s)")
	fl.DurationVar(&c.Latency, "latency", 0, "time before the vendor's commit")
	fl.DurationVar(&c.Jitter, "jitter", 0, "drawn part added to --latency")
	fl.DurationVar(&c.MaxHold, "max-hold", 0, "longest an answer is withheld (default 2m)")
	fl.BoolVar(&f.withParent, withParent, false, "end when standard input ends")
	_ = fl.MarkHidden(withParent)
}

func (f *sandboxFlags) apply(c *sandbox.Config) error {
	c.Keys, c.KeyScope = sandbox.KeyMode(f.keys), sandbox.KeyScope(f.scope)
	c.Stores, c.Corrections = sandbox.Stores(f.stores), sandbox.Corrections(f.corrections)
	if c.RateLimit.Requests == 0 {
		c.RateLimit.Per = 0
	}
	var err error
	if c.Faults, err = sandbox.ParseFaultRates(f.faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	if c.ItemFaults, err = sandbox.ParseItemFaultRates(f.itemFaults); err != nil {
		return fmt.Errorf("--item-faults: %w", err)
	}
	if c.LookUpFaults, err = sandbox.ParseFaultRates(f.lookUpFaults); err != nil {
		return fmt.Errorf("--look-up-faults: %w", err)
	}
	return c.Validate()
}
