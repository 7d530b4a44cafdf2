package httpapi

import (
	"time"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// shownRows is how many rejected rows and corrections one batch's answer lists.
const shownRows = 100

// viewBatch renders what a token says of its batch.
func viewBatch(t store.Token, now time.Time) apigen.Batch {
	return apigen.Batch{
		BatchKey: t.Batch.Key(), Vendor: t.Batch.Vendor, PayPeriodID: t.Batch.PayPeriod, RunAttemptGroup: t.Batch.Group,
		State: apigen.BatchState(t.State.String()), HoldReason: apigen.HoldReason(t.HoldReason),
		Total: int(t.Batch.Total), Counts: viewCounts(t.Counts), Amounts: viewAmounts(t.Amounts), RejectedTotal: int(t.Rejected),
		ResumeToken: apigen.ResumeTokenSummary{
			Token: t.Token, State: apigen.BatchState(t.State.String()), LastCursor: int(t.LastCursor), Epoch: t.Epoch,
		},
		CreatedAt: t.Batch.CreatedAt.UTC(), CompletedAt: utc(t.CompletedAt), Eta: utc(eta(t, now)),
	}
}

func viewCounts(c payroll.Counts) apigen.LineCounts {
	of := func(s payroll.State) int { return int(c.Of(s)) }
	return apigen.LineCounts{
		Pending: of(payroll.Pending), InFlight: of(payroll.InFlight), Retrying: of(payroll.Retrying), Unknown: of(payroll.Unknown),
		Settled: of(payroll.Settled), DeadLettered: of(payroll.DeadLettered), Cancelled: of(payroll.Cancelled), Superseded: of(payroll.Superseded),
	}
}

func viewAmounts(byCurrency map[string]payroll.Amounts) map[string]apigen.Amounts {
	view := make(map[string]apigen.Amounts, len(byCurrency))
	for currency, a := range byCurrency {
		view[currency] = apigen.Amounts{
			Total: a.Total.Format(currency), Open: a.Open().Format(currency), Settled: a.Settled.Format(currency), Earlier: a.Earlier.Format(currency),
			DeadLettered: a.DeadLettered.Format(currency), Cancelled: a.Cancelled.Format(currency), Superseded: a.Superseded.Format(currency),
		}
	}
	return view
}

// longestEta is the farthest an estimate looks ahead; beyond it there is none.
const longestEta = 7 * 24 * time.Hour

// eta is when a batch should be complete at its average pace since it was
// posted: the share of lines at rest says how much of the way that was. Zero
// where nothing is being sent or nothing has come to rest yet.
func eta(t store.Token, now time.Time) time.Time {
	open := t.Counts.Of(payroll.Pending) + t.Counts.Of(payroll.InFlight) + t.Counts.Of(payroll.Retrying) + t.Counts.Of(payroll.Unknown)
	done := t.Counts.Total() - open - int64(t.Rejected)
	passed := now.Sub(t.Batch.CreatedAt)
	if t.State != store.InProgress || open == 0 || done <= 0 || passed <= 0 {
		return time.Time{}
	}
	left := time.Duration(float64(passed) * float64(open) / float64(done))
	if left <= 0 || left > longestEta {
		return time.Time{}
	}
	return now.Add(left).Truncate(time.Second)
}

func viewRejected(letters []store.Letter) *[]apigen.RejectedRow {
	rows := make([]apigen.RejectedRow, 0, len(letters))
	for _, l := range letters {
		rows = append(rows, apigen.RejectedRow{
			Ordinal: int(l.Ordinal), EmployeeID: validEmployee(l.EmployeeID), ReasonCode: apigen.ReasonCode(l.Reason.String()), Detail: l.LastError,
		})
	}
	return &rows
}

// validEmployee leaves out what a row has in the place of an employee id.
func validEmployee(id string) string {
	if payroll.ValidEmployeeID(id) {
		return id
	}
	return ""
}

func viewCorrections(b *apigen.Batch, found []store.CorrectionView) {
	b.CorrectionsTruncated = len(found) > shownRows
	for _, c := range found[:min(len(found), shownRows)] {
		b.Corrections = append(b.Corrections, apigen.Correction{LineKey: c.LineKey, Corrects: c.Corrects})
	}
}

func viewToken(t store.Token, now time.Time) apigen.ResumeToken {
	v := apigen.ResumeToken{
		Token: t.Token, BatchKey: t.Batch.Key(), State: apigen.BatchState(t.State.String()), HoldReason: apigen.HoldReason(t.HoldReason),
		Total: int(t.Batch.Total), Counts: viewCounts(t.Counts), NextOrdinal: int(t.NextOrdinal), LastCursor: int(t.LastCursor), Epoch: t.Epoch,
		Owner: t.Owner,
	}
	if t.Owner != "" && !t.HeartbeatAt.IsZero() {
		age := max(now.Sub(t.HeartbeatAt), 0).Seconds()
		v.HeartbeatAge = &age
	}
	return v
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
