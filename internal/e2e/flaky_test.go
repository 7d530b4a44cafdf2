package e2e

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// flaky is a ledger whose calls fail now and then: before they do anything, or
// after it, when nobody hears of what they did.
type flaky struct {
	batch.Store
	mu   *sync.Mutex
	dice *rand.Rand
	rate float64
}

func flakyStore(s batch.Store, dice *rand.Rand, rate float64) batch.Store {
	return flaky{s, &sync.Mutex{}, dice, rate}
}

// fails draws whether a call fails, and whether it takes effect first.
func (f flaky) fails() (fails, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dice.Float64() < f.rate, f.dice.IntN(2) == 0
}

// try makes a call that may fail.
func try[T any](f flaky, call func() (T, error)) (T, error) {
	fails, after := f.fails()
	var none T
	switch {
	case !fails:
		return call()
	case after:
		if _, err := call(); err != nil {
			return none, err
		}
	}
	return none, store.ErrUnavailable
}

func (f flaky) do(call func() error) error {
	_, err := try(f, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f flaky) ReadAhead(ctx context.Context, batchID int64, from int32, limit int) ([]payroll.Line, error) {
	return try(f, func() ([]payroll.Line, error) { return f.Store.ReadAhead(ctx, batchID, from, limit) })
}

func (f flaky) Due(ctx context.Context, batchID int64, now time.Time, limit int) ([]store.Due, error) {
	return try(f, func() ([]store.Due, error) { return f.Store.Due(ctx, batchID, now, limit) })
}

func (f flaky) NextDue(ctx context.Context, batchID int64) (time.Time, error) {
	return try(f, func() (time.Time, error) { return f.Store.NextDue(ctx, batchID) })
}

func (f flaky) Open(ctx context.Context, o store.Open) error {
	return f.do(func() error { return f.Store.Open(ctx, o) })
}

func (f flaky) Apply(ctx context.Context, w store.Work) (store.Applied, error) {
	return try(f, func() (store.Applied, error) { return f.Store.Apply(ctx, w) })
}

func (f flaky) OpenAttempts(ctx context.Context, batchID int64) ([]store.Attempt, error) {
	return try(f, func() ([]store.Attempt, error) { return f.Store.OpenAttempts(ctx, batchID) })
}

func (f flaky) Blocked(ctx context.Context, batchID int64, after int32, limit int) ([]store.Blocked, error) {
	return try(f, func() ([]store.Blocked, error) { return f.Store.Blocked(ctx, batchID, after, limit) })
}

func (f flaky) Correct(ctx context.Context, batchID int64, ordinal int32, corrects payroll.LineRef) error {
	return f.do(func() error { return f.Store.Correct(ctx, batchID, ordinal, corrects) })
}

func (f flaky) Mirror(ctx context.Context, batchID, epoch int64, now time.Time, limit int) (int, error) {
	return try(f, func() (int, error) { return f.Store.Mirror(ctx, batchID, epoch, now, limit) })
}

func (f flaky) Work(ctx context.Context, t store.Tenure) ([]store.Token, error) {
	return try(f, func() ([]store.Token, error) { return f.Store.Work(ctx, t) })
}

func (f flaky) SetState(ctx context.Context, batchID, epoch int64, s store.BatchState, hold string, now time.Time) error {
	return f.do(func() error { return f.Store.SetState(ctx, batchID, epoch, s, hold, now) })
}

func (f flaky) SaveGate(ctx context.Context, g store.Gate) error {
	return f.do(func() error { return f.Store.SaveGate(ctx, g) })
}

func (f flaky) NoteAnswer(ctx context.Context, batchID int64, no int32, late []byte) error {
	return f.do(func() error { return f.Store.NoteAnswer(ctx, batchID, no, late) })
}
