package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
)

// olderOf joins to lines (or stage) l the live items o of lower versions of the
// same payment. $1 and $2 are tenant and pay period: the key of version 1 is
// computed, later versions are in the versions table.
const olderOf = ` JOIN LATERAL (
	SELECT x.batch_id, x.ordinal, x.live, x.line_version FROM lines x
		WHERE l.line_version > 1 AND x.period_id = l.period_id AND x.live AND x.key = payroll_line_digest($1, $2, l.employee_id, 1, l.line_ref)
	UNION ALL
	SELECT x.batch_id, x.ordinal, x.live, x.line_version FROM versions v JOIN lines x ON x.period_id = v.period_id AND x.key = v.key AND x.live
		WHERE v.period_id = l.period_id AND v.natural_key = l.natural_key AND v.line_version < l.line_version) o ON true `

// enterVersions notes versions above 1, which from then on supersede lower ones.
func (in *intake) enterVersions(ctx context.Context) error {
	if !in.count.versioned {
		return nil
	}
	_, err := in.tx.Exec(ctx, `INSERT INTO versions (period_id, natural_key, line_version, key)
		SELECT period_id, natural_key, line_version, key FROM lines WHERE batch_id = $1 AND line_version > 1
		ORDER BY natural_key, line_version ON CONFLICT DO NOTHING`, in.batch)
	return err
}

// succeed decides what the new lines do about lower versions, and higher ones
// about them, page by page.
func (in *intake) succeed(ctx context.Context) error {
	if !in.count.versioned {
		var some bool
		if err := in.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM versions WHERE period_id = $1)", in.period).Scan(&some); err != nil || !some {
			return err
		}
	}
	for after := int32(0); ; {
		ordinals, err := in.versioned(ctx, after)
		if err != nil {
			return fmt.Errorf("read versions: %w", err)
		}
		if len(ordinals) == 0 {
			return nil
		}
		after = ordinals[len(ordinals)-1]
		if err := in.succeedPage(ctx, ordinals); err != nil {
			return fmt.Errorf("write versions: %w", err)
		}
	}
}

func (in *intake) versioned(ctx context.Context, after int32) ([]int32, error) {
	rows, err := in.tx.Query(ctx, `SELECT l.ordinal FROM lines l WHERE l.batch_id = $1 AND l.ordinal > $2 AND l.live
		AND (l.line_version > 1 OR EXISTS (SELECT FROM versions v WHERE v.period_id = l.period_id AND v.natural_key = l.natural_key AND v.line_version > l.line_version))
		ORDER BY l.ordinal LIMIT $3`, in.batch, after, page)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
}

// succession is a page of decisions about versions.
type succession struct {
	own         map[int32]payroll.Change
	others      map[int64]map[int32]payroll.Change
	corrections []correction
}

type correction struct {
	ordinal  int32
	corrects payroll.LineRef
}

func (in *intake) succeedPage(ctx context.Context, ordinals []int32) error {
	lines, err := standings(ctx, in.tx, in.batch, ordinals)
	if err != nil {
		return err
	}
	older, err := in.own.older(ctx, ordinals)
	if err != nil {
		return err
	}
	p := &succession{own: make(map[int32]payroll.Change), others: make(map[int64]map[int32]payroll.Change)}
	for _, s := range lines {
		in.precede(p, s, older[s.Line.Ordinal])
	}
	if err := in.own.all(ctx, p.own); err != nil {
		return err
	}
	if err := in.changeOthers(ctx, p.others); err != nil {
		return err
	}
	return in.correct(ctx, p.corrections)
}

// older reads the lower versions of lines of the batch, lowest first.
func (h *held) older(ctx context.Context, ordinals []int32) (map[int32][]payroll.Older, error) {
	rows, err := h.tx.Query(ctx, `SELECT l.ordinal, `+olderColumns+` FROM lines l`+olderOf+olderJoins+`
		WHERE l.batch_id = $3 AND l.ordinal = ANY($4) ORDER BY l.ordinal, o.line_version`,
		h.token.Batch.Tenant, h.token.Batch.PayPeriod, h.token.Batch.ID, ordinals)
	if err != nil {
		return nil, err
	}
	older := make(map[int32][]payroll.Older)
	var ordinal int32
	var o payroll.Older
	var closedAs string
	_, err = pgx.ForEachRow(rows, append([]any{&ordinal}, olderFields(&o, &closedAs)...), func() error {
		o.LetterClosed, _ = payroll.ParseCloseReason(closedAs)
		older[ordinal] = append(older[ordinal], o)
		return nil
	})
	return older, err
}

// precede decides about one new line: superseded where a higher version exists,
// and that one sees to the lower ones; else what it does about each lower one.
func (in *intake) precede(p *succession, s payroll.Standing, older []payroll.Older) {
	if s.Superseded {
		if s.State == payroll.Pending {
			p.own[s.Line.Ordinal] = payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Replaced}
		}
		return
	}
	var waits payroll.LineRef
	refused := false
	for _, o := range older {
		switch payroll.Succeed(o) {
		case payroll.PrecedesReplaces:
			p.change(in, o.Ref, payroll.Change{Ordinal: o.Ref.Ordinal, Event: payroll.Replaced})
		case payroll.PrecedesCloses:
			p.change(in, o.Ref, payroll.Change{Ordinal: o.Ref.Ordinal, Close: payroll.Corrected})
		case payroll.PrecedesWaits:
			waits = o.Ref
			if h := in.others[o.Ref.Batch]; h != nil {
				h.disturbed = true // a resend of it that is planned is planned no more
			}
		case payroll.PrecedesCorrects:
			p.corrections = append(p.corrections, correction{s.Line.Ordinal, o.Ref})
			refused = refused || !in.sub.Corrections.Sendable(in.sub.Batch.Vendor, o)
		default:
		}
	}
	if s.State != payroll.Pending {
		return
	}
	switch {
	case refused:
		p.own[s.Line.Ordinal] = in.die(s.Line, payroll.Death{
			Reason: payroll.CorrectionRefused, Stage: payroll.StageIntake, Error: "it corrects a payment that this vendor does not correct",
		})
	case !waits.IsZero():
		p.own[s.Line.Ordinal] = in.wait(s, waits)
	}
}

// change decides about a lower version. One of the same body that is to be
// replaced is seen to when its own turn comes.
func (p *succession) change(in *intake, ref payroll.LineRef, c payroll.Change) {
	if ref.Batch == in.batch {
		if c.Event != payroll.Replaced {
			p.own[ref.Ordinal] = c
		}
		return
	}
	if p.others[ref.Batch] == nil {
		p.others[ref.Batch] = make(map[int32]payroll.Change)
	}
	p.others[ref.Batch][ref.Ordinal] = c
}

// wait puts a line behind an older version whose fate must be known first.
func (in *intake) wait(s payroll.Standing, behind payroll.LineRef) payroll.Change {
	t := payroll.Trouble{Generation: 1}
	if s.Trouble != nil {
		t = *s.Trouble
	}
	t.BlockedBy, t.DueAt = behind, in.now
	in.receipt.Blocked++
	return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
}

func (in *intake) correct(ctx context.Context, corrections []correction) error {
	if len(corrections) == 0 {
		return nil
	}
	var ordinals, correctedOrdinals []int32
	var correctedBatches []int64
	for _, c := range corrections {
		ordinals = append(ordinals, c.ordinal)
		correctedBatches = append(correctedBatches, c.corrects.Batch)
		correctedOrdinals = append(correctedOrdinals, c.corrects.Ordinal)
	}
	_, err := in.tx.Exec(ctx, `INSERT INTO corrections SELECT $1, c.* FROM unnest($2::int4[], $3::int8[], $4::int4[]) AS c ON CONFLICT DO NOTHING`,
		in.batch, ordinals, correctedBatches, correctedOrdinals)
	return err
}
