package sqlite

import (
	"context"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// troubleColumns are those of a payroll.Trouble, read by troubleRow. Each is
// NULL where a LEFT JOIN found none.
const troubleColumns = `r.state, r.generation, r.sends, r.used_network, r.used_vendor_error, r.used_rate_limited, r.used_not_yet,
  r.used_look_up, r.first_sent_at, r.ambiguous, r.quiet_at, r.due_at, r.look_up_next, r.looked_up, r.conflicted, r.max_chunk,
  r.family, r.frozen_with, r.blocked_by_batch, r.blocked_by_ordinal, r.attempt_no, r.cutoff_at`

const troubleWidth = 22

// troubleRow scans a trouble that may not be there.
type troubleRow [troubleWidth]maybe

// maybe scans a number or NULL.
type maybe struct {
	n  int64
	ok bool
}

func (m *maybe) Scan(src any) error {
	m.n, m.ok = src.(int64)
	return nil
}

func (r *troubleRow) dest() []any {
	dest := make([]any, troubleWidth)
	for i := range r {
		dest[i] = &r[i]
	}
	return dest
}

func (r *troubleRow) state() payroll.State { return payroll.State(r[0].n) }

func (r *troubleRow) trouble() *payroll.Trouble {
	if !r[0].ok {
		return nil
	}
	t := &payroll.Trouble{
		Generation: int(r[1].n), Sends: int(r[2].n),
		FirstSentAt: fromMicros(r[8].n), Ambiguous: r[9].n != 0, QuietAt: fromMicros(r[10].n), DueAt: fromMicros(r[11].n),
		LookUpNext: r[12].n != 0, LookedUp: int(r[13].n), Conflicted: r[14].n != 0, MaxChunk: int(r[15].n),
		Family: int32(r[16].n), FrozenWith: int32(r[17].n),
		BlockedBy: payroll.LineRef{Batch: r[18].n, Ordinal: int32(r[19].n)},
		AttemptNo: int32(r[20].n), CutoffAt: fromMicros(r[21].n),
	}
	for class := range t.Used {
		t.Used[class] = int(r[3+class].n)
	}
	return t
}

var upsertTroubles = newBulk(`INSERT OR REPLACE INTO troubles (batch_id, ordinal, state, generation, sends, used_network, used_vendor_error,
  used_rate_limited, used_not_yet, used_look_up, first_sent_at, ambiguous, quiet_at, due_at, look_up_next, looked_up, conflicted,
  max_chunk, family, frozen_with, blocked_by_batch, blocked_by_ordinal, attempt_no, cutoff_at) VALUES`, 2+troubleWidth, "")

// writeTroubles brings troubles up to date with effects.
func writeTroubles(ctx context.Context, t *tx, batchID int64, lines []store.Effect) error {
	var args []any
	for _, e := range lines {
		switch {
		case e.Trouble != nil && (e.Moved() || e.Was.Trouble == nil || *e.Trouble != *e.Was.Trouble):
			args = appendTrouble(args, batchID, e.Was.Line.Ordinal, e.State, *e.Trouble)
		case e.Trouble == nil && e.Was.Trouble != nil:
			if err := t.exec(ctx, "DELETE FROM troubles WHERE batch_id = ? AND ordinal = ?", batchID, e.Was.Line.Ordinal); err != nil {
				return err
			}
		}
	}
	_, err := upsertTroubles.insert(ctx, t, args)
	return err
}

func appendTrouble(args []any, batchID int64, ordinal int32, s payroll.State, t payroll.Trouble) []any {
	args = append(args, batchID, ordinal, int64(s), t.Generation, t.Sends)
	for _, used := range t.Used {
		args = append(args, used)
	}
	return append(args, micros(t.FirstSentAt), flag(t.Ambiguous), micros(t.QuietAt), micros(t.DueAt), flag(t.LookUpNext), t.LookedUp,
		flag(t.Conflicted), t.MaxChunk, t.Family, t.FrozenWith, t.BlockedBy.Batch, t.BlockedBy.Ordinal, t.AttemptNo, micros(t.CutoffAt))
}
