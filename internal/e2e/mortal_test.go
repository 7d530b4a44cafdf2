package e2e

import (
	"context"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// mortalStore is the ledger as a life sees it: once dead, it neither reads nor
// writes any more.
type mortalStore struct {
	batch.Store
	l *life
}

func (m mortalStore) Open(ctx context.Context, o store.Open) error {
	if m.l.dead.Load() {
		return errDead
	}
	err := m.Store.Open(ctx, o)
	if err == nil && m.l.opens.Add(1) == m.l.lose {
		return store.ErrUnavailable // it was committed, and nobody heard
	}
	return err
}

func (m mortalStore) Apply(ctx context.Context, w store.Work) (store.Applied, error) {
	if m.l.dead.Load() {
		return store.Applied{}, errDead
	}
	return m.Store.Apply(ctx, w)
}

func (m mortalStore) NoteAnswer(ctx context.Context, batchID int64, no int32, late []byte) error {
	if m.l.dead.Load() {
		return errDead
	}
	return m.Store.NoteAnswer(ctx, batchID, no, late)
}

func (m mortalStore) SetState(ctx context.Context, batchID, epoch int64, s store.BatchState, hold string, now time.Time) error {
	if m.l.dead.Load() {
		return errDead
	}
	return m.Store.SetState(ctx, batchID, epoch, s, hold, now)
}

func (m mortalStore) Work(ctx context.Context, t store.Tenure) ([]store.Token, error) {
	if m.l.dead.Load() {
		return nil, errDead
	}
	return m.Store.Work(ctx, t)
}

// mortalSender writes nothing once its life has ended; a request on the wire
// goes on without anybody to read its answer.
type mortalSender struct {
	batch.Sender
	l *life
}

func (m mortalSender) Send(ctx context.Context, r vendor.Rendered, before time.Time) vendor.Exchange {
	if m.l.dead.Load() {
		return vendor.Exchange{Sent: vendor.NothingSent, Err: errDead}
	}
	return m.Sender.Send(context.WithoutCancel(ctx), r, before)
}
