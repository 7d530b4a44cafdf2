package postgres

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Columns and the fields they are read into, one pair per noun, so that every
// reader of a noun reads all of it in one order.

// lineColumns are of lines l.
const lineColumns = `l.ordinal, l.key, l.hash, l.natural_key, l.employee_id, l.line_version, l.line_ref, l.amount, l.currency, l.details, l.metadata`

func lineFields(l *payroll.Line) []any {
	return []any{
		&l.Ordinal, &fixed{l.Key[:]}, &fixed{l.Hash[:]}, &fixed{l.AnyVersion[:]}, &l.EmployeeID, &l.Version, &l.Ref,
		(*int64)(&l.Amount), &l.Currency, &details{&l.Details}, &kept{&l.Metadata},
	}
}

// troubleColumns are of troubles r, which may be missing (LEFT JOIN).
const troubleColumns = `r.batch_id IS NOT NULL, coalesce(r.generation, 0), coalesce(r.sends, 0),
	coalesce(r.used_network, 0), coalesce(r.used_vendor_error, 0), coalesce(r.used_rate_limited, 0), coalesce(r.used_not_yet, 0), coalesce(r.used_look_up, 0),
	r.first_sent_at, coalesce(r.ambiguous, false), r.quiet_at, r.due_at, coalesce(r.look_up_next, false), coalesce(r.looked_up, 0), coalesce(r.conflicted, false),
	coalesce(r.max_chunk, 0), coalesce(r.family, 0), coalesce(r.frozen_with, 0), coalesce(r.blocked_by_batch, 0), coalesce(r.blocked_by_ordinal, 0),
	coalesce(r.attempt_no, 0), r.cutoff_at`

func troubleFields(found *bool, t *payroll.Trouble) []any {
	return []any{
		found, &t.Generation, &t.Sends,
		&t.Used[payroll.ClassNetwork], &t.Used[payroll.ClassVendorError], &t.Used[payroll.ClassRateLimited], &t.Used[payroll.ClassNotYet], &t.Used[payroll.ClassLookUp],
		(*stamp)(&t.FirstSentAt), &t.Ambiguous, (*stamp)(&t.QuietAt), (*stamp)(&t.DueAt), &t.LookUpNext, &t.LookedUp, &t.Conflicted,
		&t.MaxChunk, &t.Family, &t.FrozenWith, &t.BlockedBy.Batch, &t.BlockedBy.Ordinal,
		&t.AttemptNo, (*stamp)(&t.CutoffAt),
	}
}

// troubleOf and outcomeOf are of lines l. OFFSET 0 keeps them what they are, a
// look at one row of an index for each line: a planner without statistics would
// rather join the whole tables.
const (
	troubleOf = ` LEFT JOIN LATERAL (SELECT * FROM troubles r WHERE r.batch_id = l.batch_id AND r.ordinal = l.ordinal OFFSET 0) r ON true`
	outcomeOf = ` LEFT JOIN LATERAL (SELECT * FROM outcomes o WHERE o.batch_id = l.batch_id AND o.ordinal = l.ordinal OFFSET 0) o ON true`
)

// supersededColumn is whether a higher version of line l exists.
const supersededColumn = `EXISTS (SELECT FROM versions v WHERE v.period_id = l.period_id AND v.natural_key = l.natural_key AND v.line_version > l.line_version)`

// stateColumn is where a line stands: of resume_tokens t, lines l, troubles r, outcomes o.
const stateColumn = `payroll_line_state(t.next_ordinal, t.cancelled_from, l.live, l.ordinal, r.state, o.state)`

// tokenColumns are of resume_tokens t with tokenJoins.
const tokenColumns = `t.batch_id, b.tenant, u.vendor, p.pay_period, b.run_attempt_group, b.currency, coalesce(to_char(b.pay_date, 'YYYY-MM-DD'), ''),
	b.cutoff_at, b.content_hash, b.total, b.created_by, b.created_at,
	t.token, t.state, t.hold_reason, u.owner, u.heartbeat_at, t.epoch, t.change_seq, t.version, t.next_ordinal, t.last_cursor, t.next_attempt,
	coalesce(t.cancelled_from, 0), t.pending, t.in_flight, t.retrying, t.unknown, t.settled, t.dead_lettered, t.cancelled, t.superseded,
	t.rejected, t.updated_at, t.completed_at`

const tokenJoins = ` JOIN batches b ON b.id = t.batch_id JOIN units u ON u.id = b.unit_id JOIN periods p ON p.id = u.period_id `

func tokenFields(t *store.Token) []any {
	b, n := &t.Batch, &t.Counts
	return []any{
		&b.ID, &b.Tenant, &b.Vendor, &b.PayPeriod, &b.Group, &b.Currency, &b.PayDate,
		(*stamp)(&b.CutoffAt), &fixed{b.ContentHash[:]}, &b.Total, &b.CreatedBy, (*stamp)(&b.CreatedAt),
		&t.Token, (*int16)(&t.State), &t.HoldReason, &t.Owner, (*stamp)(&t.HeartbeatAt), &t.Epoch, &t.ChangeSeq, &t.Version, &t.NextOrdinal, &t.LastCursor, &t.NextAttempt,
		&t.CancelledFrom, &n[payroll.Pending], &n[payroll.InFlight], &n[payroll.Retrying], &n[payroll.Unknown], &n[payroll.Settled], &n[payroll.DeadLettered], &n[payroll.Cancelled], &n[payroll.Superseded],
		&t.Rejected, (*stamp)(&t.UpdatedAt), (*stamp)(&t.CompletedAt),
	}
}

// attemptColumns are of attempts a.
const attemptColumns = `a.batch_id, a.attempt_no, a.epoch, a.kind, a.ordinals, a.request_key, a.generation, a.body_sha256, a.revision,
	a.sent_at, a.send_before, a.closed_at, a.http_status, a.verdict, a.detail, a.late`

func attemptFields(a *store.Attempt) []any {
	return []any{
		&a.BatchID, &a.No, &a.Epoch, (*int16)(&a.Kind), &a.Ordinals, &a.RequestKey, &a.Generation, &fixed{a.BodySHA256[:]}, &a.Revision,
		(*stamp)(&a.SentAt), (*stamp)(&a.SendBefore), (*stamp)(&a.ClosedAt), &a.Answer.HTTPStatus, (*int16)(&a.Answer.Verdict), &a.Answer.Detail, &kept{&a.Answer.Late},
	}
}
