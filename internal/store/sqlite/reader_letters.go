package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// letterColumns are those of a list: without history and payload.
const letterColumns = `d.id, d.tenant, d.vendor, d.batch_id, d.batch_key, d.pay_period, d.ordinal, d.line_key, d.employee_id, d.amount, d.currency,
  d.cutoff_at, d.status, d.reason, d.stage, d.last_status, d.last_error, d.attempts, d.payload_cut, d.first_seen_at, d.dead_lettered_at,
  d.closed_at, d.closed_as, d.actor, d.note, d.root_cause`

func letterDest(l *store.Letter) []any {
	return []any{
		fixed{l.ID[:]},
		&l.Tenant, &l.Vendor, &l.BatchID, &l.BatchKey, &l.PayPeriod, &l.Ordinal, &l.LineKey, &l.EmployeeID, &l.Amount, &l.Currency,
		at{&l.CutoffAt},
		&l.Status, &l.Reason, &l.Stage, &l.LastStatus, &l.LastError, &l.Attempts, &l.PayloadCut,
		at{&l.FirstSeenAt},
		at{&l.DeadLetteredAt},
		at{&l.ClosedAt},
		&l.ClosedAs, &l.Actor, &l.Note, &l.RootCause,
	}
}

func scanLetter(row scanner) (l store.Letter, err error) {
	err = row.Scan(letterDest(&l)...)
	return l, err
}

// Rejected lists the first limit items refused at intake.
func (s *Store) Rejected(ctx context.Context, batchID int64, limit int) ([]store.Letter, error) {
	return read(ctx, s, func(q querier) ([]store.Letter, error) {
		return collect(ctx, q, scanLetter, `SELECT `+letterColumns+` FROM dead_letters d
			WHERE d.batch_id = ? AND d.stage = ? ORDER BY d.ordinal LIMIT ?`, batchID, payroll.StageIntake, limit)
	})
}

// letterWhere spells a filter as a condition.
func letterWhere(f store.LetterFilter) (where string, args []any) {
	conditions := []string{"d.tenant = ?"}
	args = append(args, f.Tenant)
	add := func(wanted bool, condition string, values ...any) {
		if wanted {
			conditions, args = append(conditions, condition), append(args, values...)
		}
	}
	add(f.Status != 0, "d.status = ?", f.Status)
	add(f.Reason != 0, "d.reason = ?", f.Reason)
	add(f.Class != 0, "d.reason IN (SELECT value FROM json_each(?))", reasonsOf(f.Class))
	add(f.Stage != 0, "d.stage = ?", f.Stage)
	add(f.Vendor != "", "d.vendor = ?", f.Vendor)
	add(f.BatchKey != "", "d.batch_id = (SELECT id FROM batches WHERE batch_key = ?)", f.BatchKey)
	add(f.PayPeriod != "", "d.pay_period = ?", f.PayPeriod)
	return strings.Join(conditions, " AND "), args
}

// reasonsOf are the reasons of a failure class, for json_each.
func reasonsOf(c payroll.FailureClass) string {
	var list []int32
	for _, r := range payroll.Reasons {
		if r.Class() == c {
			list = append(list, int32(r))
		}
	}
	return jsonList(list)
}

// Letters lists dead letters, the oldest first, without history and payload.
func (s *Store) Letters(ctx context.Context, f store.LetterFilter, p store.Page) (items []store.Letter, next string, err error) {
	after, err := store.DecodeCursor(p.After, 3)
	if err != nil {
		return nil, "", err
	}
	where, args := letterWhere(f)
	if after != nil {
		where += " AND (d.dead_lettered_at, d.id) > (?, ?)"
		args = append(args, after[0], idOf(after[1], after[2]))
	}
	items, err = read(ctx, s, func(q querier) ([]store.Letter, error) {
		return collect(ctx, q, scanLetter, `SELECT `+letterColumns+` FROM dead_letters d WHERE `+where+`
			ORDER BY d.dead_lettered_at, d.id LIMIT ?`, append(args, p.Limit+1)...)
	})
	items, next = pageOf(items, p.Limit, func(l store.Letter) string {
		high, low := halves(l.ID)
		return store.EncodeCursor(micros(l.DeadLetteredAt), high, low)
	})
	return items, next, err
}

// halves are an id as two numbers of a cursor; idOf puts them together.
func halves(id uuid.UUID) (high, low int64) {
	return int64(binary.BigEndian.Uint64(id[:8])), int64(binary.BigEndian.Uint64(id[8:]))
}

func idOf(high, low int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(high)), uint64(low))
}

// CountLetters counts them.
func (s *Store) CountLetters(ctx context.Context, f store.LetterFilter) (int, error) {
	where, args := letterWhere(f)
	return read(ctx, s, func(q querier) (n int, err error) {
		err = q.row(ctx, "SELECT count(*) FROM dead_letters d WHERE "+where, args...).Scan(&n)
		return n, err
	})
}

// Letter reads one with everything, and its line's standing today.
func (s *Store) Letter(ctx context.Context, tenant string, id uuid.UUID) (store.Letter, error) {
	return read(ctx, s, func(q querier) (l store.Letter, err error) {
		var history []byte
		err = q.row(ctx, `SELECT `+letterColumns+`, d.history, d.payload FROM dead_letters d WHERE d.id = ? AND d.tenant = ?`, id[:], tenant).
			Scan(append(letterDest(&l), &history, &l.Payload)...)
		if err != nil {
			return l, found(err)
		}
		if err := json.Unmarshal(history, &l.History); err != nil {
			return l, fmt.Errorf("stored history: %w", err)
		}
		l.Standing, err = standingOf(ctx, q, payroll.LineRef{Batch: l.BatchID, Ordinal: l.Ordinal})
		return l, err
	})
}
