package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
)

// members decodes an answer without the generated types.
func members(t *testing.T, w *world, id string) map[string]any {
	t.Helper()
	rec := w.do(samples()[id].request())
	var v map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil || rec.Code >= 300 {
		t.Fatalf("%s: %d %s", id, rec.Code, rec.Body)
	}
	return v
}

func TestABatchSaysWhereEveryLineAndCentIs(t *testing.T) {
	b := members(t, newWorld(t), "getBatch")
	want := map[string]any{
		"USD": map[string]any{"total": "3.00", "open": "2.00", "settled": "1.00", "earlier": "0.00", "dead_lettered": "0.00", "cancelled": "0.00", "superseded": "0.00"},
		"JPY": map[string]any{"total": "5", "open": "5", "settled": "0", "earlier": "0", "dead_lettered": "0", "cancelled": "0", "superseded": "0"},
	}
	if !reflect.DeepEqual(b["amounts"], want) {
		t.Errorf("amounts %v", b["amounts"])
	}
	sum := 0.0
	for _, n := range b["counts"].(map[string]any) {
		sum += n.(float64)
	}
	if sum != b["total"] {
		t.Errorf("%v lines are counted of %v", sum, b["total"])
	}
	if r := b["rejected"].([]any); len(r) != 1 || r[0].(map[string]any)["employee_id"] != nil {
		t.Errorf("rejected %v: what is no employee id is not shown as one", r)
	}
	if c := b["corrections"].([]any); len(c) != 100 || b["corrections_truncated"] != true {
		t.Errorf("%d corrections, truncated %v", len(c), b["corrections_truncated"])
	}
}

func TestAListedBatchHasItsAmounts(t *testing.T) {
	p := members(t, newWorld(t), "listBatches")
	item := p["items"].([]any)[0].(map[string]any)
	if len(item["amounts"].(map[string]any)) != 2 || item["rejected"] != nil || item["corrections"] != nil || p["next_cursor"] != "next" {
		t.Errorf("%v", p)
	}
}

func TestEta(t *testing.T) {
	at := func(state store.BatchState, settled, rejected, pending int64) store.Token {
		k := store.Token{State: state, Rejected: int32(rejected), Batch: payroll.Batch{CreatedAt: noon}}
		k.Counts[payroll.Settled], k.Counts[payroll.DeadLettered], k.Counts[payroll.Pending] = settled, rejected, pending
		return k
	}
	for name, c := range map[string]struct {
		token store.Token
		now   time.Time
		want  time.Time
	}{
		"half way":               {at(store.InProgress, 50, 0, 50), noon.Add(time.Minute), noon.Add(2 * time.Minute)},
		"rejects are no pace":    {at(store.InProgress, 50, 500, 50), noon.Add(time.Minute), noon.Add(2 * time.Minute)},
		"a quarter":              {at(store.InProgress, 25, 0, 75), noon.Add(time.Minute), noon.Add(4 * time.Minute)},
		"not begun":              {at(store.InProgress, 0, 5, 75), noon.Add(time.Minute), time.Time{}},
		"done":                   {at(store.InProgress, 10, 0, 0), noon.Add(time.Minute), time.Time{}},
		"waiting":                {at(store.Waiting, 50, 0, 50), noon.Add(time.Minute), time.Time{}},
		"the clock stands":       {at(store.InProgress, 50, 0, 50), noon, time.Time{}},
		"too far away to be one": {at(store.InProgress, 1, 0, 1_000_000), noon.Add(time.Hour), time.Time{}},
	} {
		if got := eta(c.token, c.now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestALineShowsItsAttempts(t *testing.T) {
	l := members(t, newWorld(t), "getLine")
	attempts := l["attempts"].([]any)
	last := attempts[1].(map[string]any)
	if l["retries"] != 1.0 || l["next_attempt_at"] != "2026-07-13T10:30:00Z" || last["verdict"] != "open" || last["http_status"] != nil {
		t.Errorf("%v", l)
	}
}

func TestALineWithoutAttemptsSaysSo(t *testing.T) {
	w := newWorld(t)
	w.ledger.line.Attempts, w.ledger.line.Trouble = nil, nil
	l := members(t, w, "getLine")
	if attempts, ok := l["attempts"].([]any); !ok || len(attempts) != 0 || l["retries"] != 0.0 || l["next_attempt_at"] != nil {
		t.Errorf("%v", l)
	}
}

func TestALineThatWaitsForAnotherHasNoTime(t *testing.T) {
	w := newWorld(t)
	w.ledger.line.State = payroll.Pending
	w.ledger.line.Trouble.BlockedBy = payroll.LineRef{Batch: 1, Ordinal: 1}
	w.ledger.line.BlockedBy = w.ledger.letter.LineKey
	if l := members(t, w, "getLine"); l["blocked_by"] != w.ledger.letter.LineKey || l["next_attempt_at"] != nil {
		t.Errorf("%v", l)
	}
}

func TestEveryWordOfOursIsTheDocuments(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	check := func(schema string, words []string) {
		t.Helper()
		for _, word := range words {
			if err := d.spec.Components.Schemas[schema].Value.VisitJSON(word); err != nil {
				t.Errorf("the document has no %s %q", schema, word)
			}
		}
	}
	var states, reasons, verdicts []string
	for _, s := range payroll.States {
		states = append(states, s.String())
	}
	for _, r := range payroll.Reasons {
		reasons = append(reasons, r.String())
		check("FailureClass", []string{r.Class().String()})
	}
	for _, v := range append(payroll.Verdicts, 0) {
		verdicts = append(verdicts, string(viewVerdict(v)))
	}
	check("LineState", states)
	check("ReasonCode", reasons)
	check("Verdict", verdicts)
	check("SettledAs", []string{payroll.Created.String(), payroll.Duplicate.String(), payroll.LookedUp.String(), payroll.EarlierBatch.String(), payroll.Attested.String()})
	check("SourceStage", []string{payroll.StageIntake.String(), payroll.StageSend.String(), payroll.StageResponse.String(), payroll.StageResolve.String()})
	for s := store.Queued; s <= store.CancelledBatch; s++ {
		check("BatchState", []string{s.String()})
	}
	for s := store.LetterOpen; s <= store.LetterClosed; s++ {
		check("DeadLetterStatus", []string{s.String()})
	}
	for s := ratelimit.Open; s <= ratelimit.Suspended; s++ {
		check("GateState", []string{s.String()})
	}
	check("ClosedAs", []string{store.AttestedPaid, string(payroll.WrittenOff), string(payroll.PaidOutside), string(payroll.Corrected), string(payroll.Resubmitted)})
}

func TestADeadLetterIsWhole(t *testing.T) {
	w := newWorld(t)
	w.ledger.letter.Status, w.ledger.letter.ClosedAs, w.ledger.letter.ClosedAt = store.LetterClosed, "written_off", noon
	w.ledger.letter.Actor, w.ledger.letter.Note, w.ledger.letter.History = "id-all", "a note", nil
	l := members(t, w, "getDeadLetter")
	if l["closed_by"] != "id-all" || l["note"] != "a note" || l["payload"] != "/yByb3c=" || l["payload_encoding"] != "base64" || !strings.HasPrefix(l["closed_at"].(string), "2026-07-13T12") {
		t.Errorf("%v", l)
	}
	for _, name := range []string{"history", "allowed_actions"} {
		if list, ok := l[name].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v", name, l[name])
		}
	}
	item := members(t, w, "listDeadLetters")["items"].([]any)[0].(map[string]any)
	for _, name := range []string{"history", "payload", "allowed_actions"} {
		if item[name] != nil {
			t.Errorf("a list shows %s", name)
		}
	}
}

func TestAPayloadThatIsTextIsShownAsText(t *testing.T) {
	w := newWorld(t)
	w.ledger.letter.Payload = []byte(`{"employee_id": "Zoë"`)
	l := members(t, w, "getDeadLetter")
	if _, encoded := l["payload_encoding"]; encoded || l["payload"] != `{"employee_id": "Zoë"` {
		t.Errorf("%v", l)
	}
}

func TestARejectWithoutAnAmountShowsNone(t *testing.T) {
	w := newWorld(t)
	w.ledger.letter.Currency, w.ledger.letter.Standing = "", nil
	if l := members(t, w, "getDeadLetter"); l["gross_pay"] != nil || l["currency"] != nil {
		t.Errorf("%v", l)
	}
}

func TestAResumeTokenTellsItsOwnersAge(t *testing.T) {
	w := newWorld(t)
	if v := members(t, w, "getResumeToken"); v["owner"] != "gateway-1" || v["heartbeat_age"] != 1740.0 {
		t.Errorf("%v", v)
	}
	w.ledger.token.Owner = ""
	if v := members(t, w, "getResumeToken"); v["owner"] != nil || v["heartbeat_age"] != nil {
		t.Errorf("%v", v)
	}
}
