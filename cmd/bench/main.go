// Command bench measures the figures of docs/benchmarks.md and writes that page:
// `make bench`. It ends with status 1 when a target of today is missed.
//
// What lives here: flags, the environment, and the programs that the
// measurement needs. What must not: anything that is measured, or measures.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	met, err := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !met {
		os.Exit(1)
	}
}
