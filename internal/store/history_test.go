package store

import (
	"reflect"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
)

func TestHistoryTellsEachAttemptOnceInOrder(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	attempt := func(no int32, kind payroll.AttemptKind, closed bool, answer Answer) Attempt {
		a := Attempt{No: no, Kind: kind, SentAt: at.Add(time.Duration(no) * time.Second), Answer: answer}
		if closed {
			a.ClosedAt = at.Add(time.Minute)
		}
		return a
	}
	p := Past{
		BatchKey: "batch_x",
		Attempts: []Attempt{
			attempt(7, payroll.LookUp, false, Answer{}),
			attempt(1, payroll.Submit, true, Answer{HTTPStatus: 207}),
			attempt(3, payroll.Submit, true, Answer{HTTPStatus: 401, Verdict: payroll.VerdictReturned, Detail: "not authorised"}),
			attempt(5, payroll.Submit, true, Answer{HTTPStatus: 200}),
		},
		Events: []LineEvent{
			{AttemptNo: 1, Note: payroll.Note{Verdict: payroll.VerdictRetry, Status: 503, Detail: "busy"}},
			{AttemptNo: 0, Note: payroll.Note{Verdict: payroll.VerdictUnknown}},
		},
		SettledIn: 5, SettledStatus: 201,
	}
	want := []HistoryEntry{
		{AttemptID: "batch_x/1", Kind: payroll.Submit, SentAt: at.Add(1 * time.Second), HTTPStatus: 503, Verdict: payroll.VerdictRetry, Detail: "busy"},
		{AttemptID: "batch_x/3", Kind: payroll.Submit, SentAt: at.Add(3 * time.Second), HTTPStatus: 401, Verdict: payroll.VerdictReturned, Detail: "not authorised"},
		{AttemptID: "batch_x/5", Kind: payroll.Submit, SentAt: at.Add(5 * time.Second), HTTPStatus: 201, Verdict: payroll.VerdictSettled},
		{AttemptID: "batch_x/7", Kind: payroll.LookUp, SentAt: at.Add(7 * time.Second)},
	}
	if got := p.History(); !reflect.DeepEqual(got, want) {
		t.Errorf("history:\n got %+v\nwant %+v", got, want)
	}
}

func TestAnEventDecidesOverTheOutcomeAndTheRequest(t *testing.T) {
	p := Past{
		Attempts:  []Attempt{{No: 1, ClosedAt: time.Unix(1, 0), Answer: Answer{Verdict: payroll.VerdictUnknown}}},
		Events:    []LineEvent{{AttemptNo: 1, Note: payroll.Note{Verdict: payroll.VerdictSettled, Status: 208}}},
		SettledIn: 1, SettledStatus: 200,
	}
	if got := p.History()[0]; got.Verdict != payroll.VerdictSettled || got.HTTPStatus != 208 {
		t.Errorf("got %+v", got)
	}
}
