package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// line is one decision in the making: the line's past, copied, and the answer.
type line struct {
	Decider
	s payroll.Standing
	r payroll.Reading
	t payroll.Trouble
}

func (d Decider) begin(s payroll.Standing, r payroll.Reading) *line {
	l := &line{Decider: d, s: s, r: r}
	if s.Trouble != nil {
		l.t = *s.Trouble
	}
	l.t.Generation = max(1, l.t.Generation)
	l.t.AttemptNo = 0
	if r.Verdict == payroll.VerdictNotSent {
		l.r.Class = payroll.ClassNone // our own doing: it costs nothing
	}
	return l
}

// opened accounts for a line that was sent fresh: no send was remembered of it
// when its attempt was committed.
func (l *line) opened(a Attempt) {
	if l.t.Sends == 0 {
		l.t.Sends, l.t.FirstSentAt = 1, a.SentAt
	}
}

// close forgets the open attempts: none of them was applied, nor can be.
func (l *line) close() {
	l.t.Ambiguous, l.t.QuietAt, l.t.LookUpNext, l.t.Conflicted, l.t.FrozenWith, l.t.LookedUp = false, time.Time{}, false, false, 0, 0
}

// ended reports whether a line that is certainly not applied needs no payment
// any more.
func (l *line) ended() bool { return l.s.Cancelled || l.s.Superseded || l.late(l.Now) }

func (l *line) late(at time.Time) bool {
	return !l.s.CutoffAt.IsZero() && !at.Before(l.s.CutoffAt)
}

// exhausted reports whether more retries were asked for than today's budgets
// permit: a lowered budget applies to lines that wait already.
func (l *line) exhausted() bool {
	for class, used := range l.t.Used {
		if used > l.Policy.Budgets[class].MaxRetries {
			return true
		}
	}
	return l.t.Sends >= MaxSends
}

// hinted is the earliest moment that the answer's own hint permits.
func (l *line) hinted() time.Time { return l.Now.Add(Budget{}.Wait(0, l.r.Hint, l.Rand)) }

// narrow takes over the answer's bound on the next request's size. A request
// key stands for its exact lines: while one of its attempts is open they go
// out together or not at all.
func (l *line) narrow() {
	frozen := l.t.Ambiguous && l.Policy.Keys == KeyRequest
	if l.r.MaxChunk > 0 && !frozen && (l.t.MaxChunk == 0 || l.r.MaxChunk < l.t.MaxChunk) {
		l.t.MaxChunk = l.r.MaxChunk
	}
}

func (l *line) paid(as payroll.SettledAs) payroll.Change {
	return payroll.Change{
		Ordinal: l.s.Line.Ordinal, Event: payroll.Paid, Note: l.note(),
		Settled: payroll.Settlement{As: as, Status: l.r.Status, Reference: l.r.Reference},
	}
}

// goOn sends the line again at the given time, unless people or the cut-off
// have decided otherwise. The line is not ambiguous.
func (l *line) goOn(event payroll.Event, due time.Time) payroll.Change {
	switch {
	case l.s.Superseded:
		return l.change(payroll.Replaced)
	case l.s.Cancelled:
		return l.change(payroll.Withdrawn)
	case l.late(due):
		return l.give(payroll.CutoffPassed, payroll.StageSend, "the cut-off came before the next send")
	}
	l.narrow()
	l.t.DueAt = due
	if l.s.State == payroll.Unknown {
		event = payroll.Untouched
	} else if l.s.State != payroll.InFlight {
		event = 0 // it goes on as it stands
	}
	return l.change(event)
}

// wait leaves the line's fate unknown until the given time, when it is sent
// again under its key or looked up.
func (l *line) wait(due time.Time, lookUp bool) payroll.Change {
	l.narrow()
	l.t.DueAt, l.t.LookUpNext = due, lookUp
	if l.s.State == payroll.Unknown {
		return l.change(0)
	}
	return l.change(payroll.Lost)
}

func (l *line) give(reason payroll.Reason, stage payroll.Stage, text string) payroll.Change {
	c := l.change(payroll.Given)
	c.Death = &payroll.Death{Reason: reason, Stage: stage, Status: l.r.Status, Error: text}
	return c
}

// park gives an ambiguous line to a person.
func (l *line) park(text, alert string) payroll.Change {
	c := l.give(payroll.OutcomeUnknown, payroll.StageResolve, text)
	c.Alert = alert
	return c
}

func (l *line) change(event payroll.Event) payroll.Change {
	return payroll.Change{Ordinal: l.s.Line.Ordinal, Event: event, Trouble: &l.t, Note: l.note()}
}

// unchanged: the answer is noted and nothing follows from it.
func (l *line) unchanged(alert string) payroll.Change {
	c := l.change(0)
	c.Alert = alert
	if l.s.Trouble == nil {
		c.Trouble = nil
	}
	return c
}

func (l *line) explain(text string) string {
	if l.r.Detail == "" {
		return text
	}
	return text + ": " + l.r.Detail
}

func (l *line) note() *payroll.Note {
	if l.r.Verdict == 0 {
		return nil
	}
	return &payroll.Note{Verdict: l.r.Verdict, Status: l.r.Status, Detail: l.r.Detail}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
