package main

import (
	"context"
	"time"

	"payrollgateway/internal/store"
)

// oneClock is the time of the store at start plus monotonic time since: steps
// of this machine's clock change nothing.
func oneClock(ctx context.Context, s store.Store) (func() time.Time, error) {
	base, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	return func() time.Time { return base.Add(time.Since(start)) }, nil
}
