package sqlite

import (
	"context"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

const selectAttempts = `SELECT batch_id, attempt_no, epoch, kind, ordinals, request_key, generation, body_sha256, revision, sent_at, send_before,
  closed_at, http_status, verdict, detail, late FROM attempts `

func scanAttempt(row scanner) (store.Attempt, error) {
	var a store.Attempt
	err := row.Scan(&a.BatchID, &a.No, &a.Epoch, &a.Kind, ordinals{&a.Ordinals}, &a.RequestKey, &a.Generation, fixed{a.BodySHA256[:]},
		&a.Revision, at{&a.SentAt}, at{&a.SendBefore}, at{&a.ClosedAt}, &a.Answer.HTTPStatus, &a.Answer.Verdict, &a.Answer.Detail, &a.Answer.Late)
	return a, err
}

func readAttempt(ctx context.Context, q querier, batchID int64, no int32) (store.Attempt, error) {
	a, err := scanAttempt(q.row(ctx, selectAttempts+"WHERE batch_id = ? AND attempt_no = ?", batchID, no))
	return a, found(err)
}

func openAttempts(ctx context.Context, q querier, batchID int64) ([]store.Attempt, error) {
	return collect(ctx, q, scanAttempt, selectAttempts+"WHERE batch_id = ? AND closed_at = 0 ORDER BY attempt_no", batchID)
}

func insertAttempt(ctx context.Context, t *tx, a store.Attempt, fresh bool) error {
	return t.exec(ctx, `INSERT INTO attempts (batch_id, attempt_no, epoch, kind, fresh, first_ordinal, last_ordinal, request_key, generation,
		body_sha256, revision, sent_at, send_before, ordinals) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.BatchID, a.No, a.Epoch, a.Kind, flag(fresh), slices.Min(a.Ordinals), slices.Max(a.Ordinals), a.RequestKey, a.Generation,
		a.BodySHA256[:], a.Revision, micros(a.SentAt), micros(a.SendBefore), packed(a.Ordinals))
}

// pasts reads what the tables remember of the ways of lines. A line's attempts
// are those of its events and its outcome, and the open ones that carry it.
func pasts(ctx context.Context, q querier, k *token, list []int32) (map[int32]store.Past, error) {
	all := make(map[int32]store.Past, len(list))
	for _, o := range list {
		all[o] = store.Past{BatchKey: k.Batch.Key()}
	}
	numbers, err := pastEvents(ctx, q, k.Batch.ID, list, all)
	if err != nil {
		return nil, err
	}
	attempts, err := collect(ctx, q, scanAttempt, selectAttempts+`
		WHERE batch_id = ?1 AND (attempt_no IN (SELECT value FROM json_each(?2)) OR closed_at = 0)`, k.Batch.ID, jsonList(numbers))
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		for _, o := range a.Ordinals {
			if p, asked := all[o]; asked {
				p.Attempts = append(p.Attempts, a)
				all[o] = p
			}
		}
	}
	return all, nil
}

// pastEvents fills in events and outcomes and returns the attempts they name.
func pastEvents(ctx context.Context, q querier, batchID int64, list []int32, all map[int32]store.Past) (numbers []int32, err error) {
	err = each(ctx, q, func(row scanner) error {
		var ordinal int32
		var e store.LineEvent
		err := row.Scan(&ordinal, &e.AttemptNo, at{&e.At}, &e.Note.Verdict, &e.Note.Status, &e.Note.Detail)
		p := all[ordinal]
		p.Events = append(p.Events, e)
		all[ordinal], numbers = p, append(numbers, e.AttemptNo)
		return err
	}, `SELECT e.ordinal, e.attempt_no, e.at, e.verdict, e.http_status, e.detail
		FROM json_each(?2) j CROSS JOIN line_events e ON e.batch_id = ?1 AND e.ordinal = j.value ORDER BY e.id`, batchID, jsonList(list))
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, func(row scanner) error {
		var ordinal int32
		var state payroll.State
		var attempt int32
		var status int
		err := row.Scan(&ordinal, &state, &attempt, &status)
		if p := all[ordinal]; state == payroll.Settled {
			p.SettledIn, p.SettledStatus = attempt, status
			all[ordinal] = p
		}
		numbers = append(numbers, attempt)
		return err
	}, `SELECT o.ordinal, o.state, o.attempt_no, o.http_status
		FROM json_each(?2) j CROSS JOIN outcomes o ON o.batch_id = ?1 AND o.ordinal = j.value`, batchID, jsonList(list))
	return numbers, err
}
