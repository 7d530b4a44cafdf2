package sandbox

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// book is what the vendor knows: what it paid, what it holds, what it remembers
// under keys. It knows nothing of HTTP, and everything in it can be made again
// from the journal. It grows with the journal. Not safe for concurrent use.
type book struct {
	cfg      *Config
	min, max *decimal.Decimal

	paid     map[string]Effect // the newest effect under a key
	refused  map[string]Memory // stored refusals by line key
	answers  map[string]Memory // stored answers by request key
	held     map[Slot]int64    // the newest version
	payments int               // number of effects, for references
}

func newBook(cfg *Config) *book {
	b := &book{
		cfg: cfg, paid: map[string]Effect{}, refused: map[string]Memory{},
		answers: map[string]Memory{}, held: map[Slot]int64{},
	}
	b.min, b.max = bound(cfg.MinAmount), bound(cfg.MaxAmount)
	return b
}

func bound(text string) *decimal.Decimal {
	if amount, err := parseAmount(text); err == nil {
		return &amount
	}
	return nil
}

// noteEffect enters an effect, new or read back.
func (b *book) noteEffect(e Effect) {
	b.payments++
	b.paid[e.Key] = e
	slot := e.Payment().Slot
	b.held[slot] = max(b.held[slot], e.LineVersion)
}

// noteMemory enters a memory, new or read back.
func (b *book) noteMemory(m Memory) {
	if m.RequestKey != "" {
		b.answers[m.RequestKey] = m
	} else {
		b.refused[m.Key] = m
	}
}

func (b *book) remembers(since, now time.Time) bool {
	return b.cfg.KeyRetention == 0 || now.Sub(since) < b.cfg.KeyRetention
}

func (b *book) honours(scope KeyScope) bool {
	return b.cfg.Keys == KeysHonoured && b.cfg.KeyScope == scope
}

// storedAnswer is the answer that was given under the request key.
func (b *book) storedAnswer(s submission, now time.Time) (answer, bool) {
	m, known := b.answers[s.RequestKey]
	switch {
	case !b.honours(ScopeRequest) || !known || !b.remembers(m.Time, now):
		return answer{}, false
	case m.SHA256 != s.BodyHash:
		return problem(422, "key_reused", "the request key was used with another body"), true
	}
	return jsonAnswer(m.Status, []byte(m.Body)), true
}

// memorise keeps the answer under the request key, if this vendor does.
func (b *book) memorise(s submission, a answer, now time.Time) []*Memory {
	kept := a.status == 200 || b.cfg.Stores == StoresAll || (a.status == 207 && b.cfg.RememberMixed)
	if !b.honours(ScopeRequest) || !kept {
		return nil
	}
	m := &Memory{
		Stamp: Stamp{Type: TypeMemory, Time: now}, RequestKey: s.RequestKey,
		SHA256: s.BodyHash, Status: a.status, Body: string(a.body),
	}
	b.noteMemory(*m)
	return []*Memory{m}
}

// lookUp answers what was paid under a key, whether or not the key itself is
// still remembered.
func (b *book) lookUp(key string, now time.Time) answer {
	e, known := b.paid[key]
	if !known || now.Sub(e.Time) < b.cfg.LookUpLag {
		return marshalled(404, map[string]string{"error": "not_found", "key": key})
	}
	return marshalled(200, struct {
		Key         string `json:"key"`
		Status      int    `json:"status"`
		GrossPay    string `json:"gross_pay"`
		Currency    string `json:"currency"`
		EmployeeID  string `json:"employee_id"`
		LineVersion int64  `json:"line_version"`
		Reference   string `json:"reference"`
	}{e.Key, 201, e.Amount, e.Currency, e.EmployeeID, e.LineVersion, e.Reference})
}

// outcome is what the vendor did with a submission.
type outcome struct {
	results  []Result
	effects  []*Effect
	memories []*Memory
	refusal  *answer // of the whole request; nothing was applied
}

// execute does the work of one submission. The caller journals what comes back
// and tells nobody before.
func (b *book) execute(s submission, fates []itemFate, now time.Time) outcome {
	if b.cfg.Atomic {
		if refusal, refused := b.refuseWhole(s, fates, now); refused {
			return outcome{refusal: &refusal}
		}
	}
	var out outcome
	for i, l := range s.Lines {
		out.results = append(out.results, b.do(&out, s, l, fates[i].fault, now))
	}
	return out
}

// answerFor renders an outcome, its items spoilt as planned.
func (b *book) answerFor(out outcome, p plan) answer {
	if out.refusal != nil {
		return *out.refusal
	}
	return itemsAnswer(b.shape(out.results, p.items, p.luck))
}

// refuseWhole finds the refused line that an atomic vendor answers for all of
// them: a refusal of the data if there is one, else of the moment.
func (b *book) refuseWhole(s submission, fates []itemFate, now time.Time) (answer, bool) {
	worst := Result{}
	for i, l := range s.Lines {
		r, again := b.recall(l, now)
		if !again {
			r, _ = b.refuse(l, fates[i].fault)
		}
		if r.Status >= 400 && r.Status != 409 && (worst.Status == 0 || !ofTheMoment(r.Status)) {
			worst = r
		}
	}
	if worst.Status == 0 {
		return answer{}, false
	}
	status := 400
	if ofTheMoment(worst.Status) {
		status = worst.Status
	}
	return problem(status, "line_refused", worst.Detail), true
}

func ofTheMoment(status int) bool { return status >= 500 || status == 429 || status == 425 }

// do settles one line: from memory, else by refusing it, else by paying it.
// Memory comes first, so a refusal is always the truth about the key.
func (b *book) do(out *outcome, s submission, l line, f Fault, now time.Time) Result {
	if r, again := b.recall(l, now); again {
		return r
	}
	if r, refused := b.refuse(l, f); refused {
		if b.cfg.Stores == StoresAll && b.honours(ScopeLine) && r.Status != 0 {
			m := &Memory{Stamp: Stamp{Type: TypeMemory, Time: now}, Key: l.Key, SHA256: l.Payload, Result: &r}
			b.noteMemory(*m)
			out.memories = append(out.memories, m)
		}
		return r
	}
	e := b.pay(s, l, now)
	out.effects = append(out.effects, e)
	return Result{Key: l.Key, Status: 201, Reference: e.Reference}
}

// recall answers a line key from memory.
func (b *book) recall(l line, now time.Time) (Result, bool) {
	if !b.honours(ScopeLine) {
		return Result{}, false
	}
	if e, known := b.paid[l.Key]; known && b.remembers(e.Time, now) {
		if e.PayloadSHA256 != l.Payload {
			return keyReused(l), true
		}
		return Result{Key: l.Key, Status: b.cfg.DuplicateStatus, Detail: "duplicate", Reference: e.Reference}, true
	}
	if m, known := b.refused[l.Key]; known && b.remembers(m.Time, now) {
		if m.SHA256 != l.Payload {
			return keyReused(l), true
		}
		return *m.Result, true
	}
	return Result{}, false
}

func keyReused(l line) Result {
	return Result{Key: l.Key, Status: 422, Detail: "key_reused: the key was used with another payload"}
}

// refuse says why a line is not paid now: a fault before the commit, what it
// says, a bound, or a newer version that is held already. A fault that merely
// loses the item gives status 0.
func (b *book) refuse(l line, f Fault) (Result, bool) {
	r := Result{Key: l.Key, Status: 422}
	switch {
	case f.Strikes() && !f.Commits():
		return b.faulted(r, f), true
	case l.fault != "":
		r.Detail = "invalid: " + l.fault
	case b.outside(l.Amount):
		r.Detail = "amount_out_of_bounds"
	case b.cfg.Corrections == CorrectionsReplace && b.held[l.Slot] > l.Version:
		r.Detail = "stale_version: a newer version is held"
	default:
		return Result{}, false
	}
	return r, true
}

// faulted is the item of a line struck by a fault of KindStatus.
func (b *book) faulted(r Result, f Fault) Result {
	r.Status, r.Detail = f.Status, "as asked: "+f.String()
	if hinted(f.Status) && !f.NoHint {
		r.RetryAfter = wholeSeconds(b.cfg.RetryAfter)
	}
	return r
}

func (b *book) outside(text string) bool {
	amount, err := parseAmount(text)
	return err != nil || (b.min != nil && amount.LessThan(*b.min)) || (b.max != nil && amount.GreaterThan(*b.max))
}

func (b *book) pay(s submission, l line, now time.Time) *Effect {
	kind := EffectCreated
	if held := b.held[l.Slot]; b.cfg.Corrections == CorrectionsReplace && held > 0 && held < l.Version {
		kind = EffectReplaced
	}
	e := &Effect{
		Stamp: Stamp{Type: TypeEffect, Time: now}, Key: l.Key, BatchKey: s.BatchKey, Tenant: l.Tenant,
		PayPeriod: l.PayPeriod, EmployeeID: l.EmployeeID, LineRef: l.LineRef, LineVersion: l.Version,
		Amount: l.Amount, Currency: l.Currency, Reference: fmt.Sprintf("sbx-%08d", b.payments+1),
		Kind: kind, PayloadSHA256: l.Payload,
	}
	b.noteEffect(*e)
	return e
}
