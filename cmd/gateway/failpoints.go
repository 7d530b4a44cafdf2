//go:build failpoints

package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"payrollgateway/internal/store"
)

// failpoint reads GATEWAY_FAILPOINT=point:n and returns a function that kills
// this process with SIGKILL when the point is reached for the nth time. Only a
// binary built for tests has it.
//
// The point "start" is a time instead: the process dies n milliseconds after
// it was asked for, which is while its store is being opened and migrated.
func failpoint(getenv func(string) string) func(point string) {
	name, count, _ := strings.Cut(getenv("GATEWAY_FAILPOINT"), ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if name == "" || err != nil {
		return func(string) {}
	}
	if name == "start" {
		time.AfterFunc(time.Duration(n)*time.Millisecond, die)
		return func(string) {}
	}
	var hits atomic.Int64
	return func(point string) {
		if point == name && hits.Add(1) == n {
			die()
		}
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// pointed puts a point before a unit is given back.
func pointed(t store.Tokens, at func(point string)) store.Tokens { return pointedTokens{t, at} }

type pointedTokens struct {
	store.Tokens
	at func(point string)
}

func (p pointedTokens) Release(ctx context.Context, t store.Tenure) error {
	p.at("before_release")
	return p.Tokens.Release(ctx, t)
}
