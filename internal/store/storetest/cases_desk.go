package storetest

import (
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func isolationCases() []testcase {
	return []testcase{
		{"another tenant's objects are not found", "a tenant reads or cancels another's pay run", othersNotFound},
		{"the same people at two tenants", "one employer's run pays or hides another's", sameNamesApart},
	}
}

func replayCases() []testcase {
	return []testcase{
		{"a replay by filter is kept", "a replay starts over after a restart", replayKept},
		{"a replay's progress, and its end", "a replay runs for ever", replayProgress},
		{"a cancelled replay stays cancelled", "a worker's progress revives what a person stopped", replayCancelled},
	}
}

func gateCases() []testcase {
	return []testcase{
		{"gates are kept", "a suspended vendor is sent to after a restart", gatesKept},
		{"a profile revision is one text", "nobody can tell which rules judged an outcome", profileRevisions},
	}
}

func timeCases() []testcase {
	return []testcase{
		{"times come back as they went in", "a time read back differs from the one compared with", timesKept},
	}
}

func othersNotFound(f *fixture) {
	b := f.submit(pay("ann"), poison("x"))
	f.claim().openFresh(b, 1).answer(rejected)
	r := f.replay()
	f.must(f.store.CreateReplay(f.Context(), r))
	letter := b.letter(2)
	f.unchanged("another tenant's calls", func() {
		ctx := f.Context()
		_, batchErr := f.store.Batch(ctx, "bolt", b.key())
		_, tokenErr := f.store.Token(ctx, "bolt", b.token().Token)
		_, lineErr := f.store.Line(ctx, "bolt", b.lineKey(1))
		_, letterErr := f.store.Letter(ctx, "bolt", letter.ID)
		_, cancelErr := f.store.Cancel(ctx, "bolt", b.key(), "their-key", f.now)
		closeErr := f.store.CloseReject(ctx, "bolt", letter.ID, payroll.WrittenOff, store.CloseNote{}, "their-key", f.now)
		_, replayErr := f.store.Replay(ctx, "bolt", r.ID)
		_, stopErr := f.store.CancelReplay(ctx, "bolt", r.ID, f.now)
		for _, err := range []error{batchErr, tokenErr, lineErr, letterErr, cancelErr, closeErr, replayErr, stopErr} {
			f.mustBe(err, store.ErrNotFound)
		}
	})
	same(f, "their replay of ours", read[store.Replay](f)(f.store.Replay(f.Context(), "acme", r.ID)).State, store.ReplayRunning)
	batches, _, err := f.store.Batches(f.Context(), "bolt", store.Page{Limit: 10})
	f.must(err)
	lines, _, err := f.store.EmployeeLines(f.Context(), "bolt", "2026-03", "ann", store.Page{Limit: 10})
	f.must(err)
	letters := f.letters(store.LetterFilter{Tenant: "bolt", BatchKey: b.key()}, 10)
	counted := read[int](f)(f.store.CountLetters(f.Context(), store.LetterFilter{Tenant: "bolt"}))
	same(f, "what they see of ours", len(batches)+len(lines)+len(letters)+counted, 0)
}

func sameNamesApart(f *fixture) {
	bolt := f.at(payroll.Unit{Tenant: "bolt", PayPeriod: "2026-03", Vendor: "paywell"})
	ours, theirs := f.submit(pay("ann")), bolt.submit(pay("ann").amount(5))
	same(f, "duplicates", theirs.receipt.Duplicates, 0)
	bolt.submit(pay("ann").version(2))
	ours.stands(payroll.Pending)
	theirs.stands(payroll.Superseded)
	f.claim().finish(ours)
	ours.stands(payroll.Settled)
}

// replay is a replay by filter, not yet stored.
func (f *fixture) replay() store.Replay {
	return store.Replay{
		ID: uuid.New(), Tenant: "acme",
		Filter: store.LetterFilter{
			Tenant: "acme", Status: store.LetterOpen, Reason: payroll.VendorRejected, Class: payroll.Permanent,
			Stage: payroll.StageResponse, Vendor: "paywell", BatchKey: "batch_2026-03_x", PayPeriod: "2026-03",
		},
		RatePerSec: 2.5, RootCause: "bank data", CutoffAt: f.now.Add(time.Hour), Actor: "operator-key",
		Matched: 12, State: store.ReplayRunning, CreatedAt: f.now,
	}
}

func replayKept(f *fixture) {
	full := f.replay()
	bare := store.Replay{ID: uuid.New(), Tenant: "acme", Filter: store.LetterFilter{Tenant: "acme"}, Actor: "operator-key", State: store.ReplayRunning, CreatedAt: f.now}
	for _, want := range []store.Replay{full, bare} {
		f.must(f.store.CreateReplay(f.Context(), want))
		f.mustEqual("the replay", read[store.Replay](f)(f.store.Replay(f.Context(), "acme", want.ID)), want)
	}
	same(f, "running", len(read[[]store.Replay](f)(f.store.RunningReplays(f.Context()))), 2)
	_, err := f.store.Replay(f.Context(), "acme", uuid.New())
	f.mustBe(err, store.ErrNotFound)
}

func replayProgress(f *fixture) {
	r := f.replay()
	f.must(f.store.CreateReplay(f.Context(), r))
	r.Cursor, r.Replayed, r.Refused = "somewhere", 7, 2
	f.mustEqual("progress", read[store.Replay](f)(f.store.UpdateReplay(f.Context(), r)), r)
	f.mustEqual("running", read[[]store.Replay](f)(f.store.RunningReplays(f.Context())), []store.Replay{r})
	f.after(time.Minute)
	r.State, r.Replayed, r.FinishedAt = store.ReplayDone, 10, f.now
	f.mustEqual("done", read[store.Replay](f)(f.store.UpdateReplay(f.Context(), r)), r)
	f.mustEqual("stored", read[store.Replay](f)(f.store.Replay(f.Context(), "acme", r.ID)), r)
	same(f, "running", len(read[[]store.Replay](f)(f.store.RunningReplays(f.Context()))), 0)
}

func replayCancelled(f *fixture) {
	r := f.replay()
	f.must(f.store.CreateReplay(f.Context(), r))
	f.after(time.Minute)
	stopped := read[store.Replay](f)(f.store.CancelReplay(f.Context(), "acme", r.ID, f.now))
	same(f, "state", stopped.State, store.ReplayCancelled)
	same(f, "finished at", stopped.FinishedAt.Equal(f.now), true)
	r.Replayed = 5
	same(f, "state after progress", read[store.Replay](f)(f.store.UpdateReplay(f.Context(), r)).State, store.ReplayCancelled)
	r.State = store.ReplayDone
	same(f, "state after its end", read[store.Replay](f)(f.store.UpdateReplay(f.Context(), r)).State, store.ReplayCancelled)
	same(f, "stored", read[store.Replay](f)(f.store.Replay(f.Context(), "acme", r.ID)).State, store.ReplayCancelled)
	same(f, "running", len(read[[]store.Replay](f)(f.store.RunningReplays(f.Context()))), 0)
}

func gatesKept(f *fixture) {
	a := store.Gate{Vendor: "paywell", State: "suspended", Reason: "credentials", Since: f.now, Actor: "gateway"}
	b := store.Gate{Vendor: "otherpay", State: "throttled", Until: f.now.Add(time.Minute), Since: f.now}
	f.must(f.store.SaveGate(f.Context(), a))
	f.must(f.store.SaveGate(f.Context(), b))
	f.mustEqual("gates", f.gates(), map[string]store.Gate{"paywell": a, "otherpay": b})
	f.after(time.Minute)
	a = store.Gate{Vendor: "paywell", State: "open", Since: f.now, Actor: "admin-key", Note: "the vendor is back"}
	f.must(f.store.SaveGate(f.Context(), a))
	a.Note = "" // it is for the audit
	f.mustEqual("gates", f.gates(), map[string]store.Gate{"paywell": a, "otherpay": b})
}

func (f *fixture) gates() map[string]store.Gate {
	f.Helper()
	byVendor := map[string]store.Gate{}
	for _, g := range read[[]store.Gate](f)(f.store.Gates(f.Context())) {
		byVendor[g.Vendor] = g
	}
	return byVendor
}

func profileRevisions(f *fixture) {
	save := func(name string, revision int32, text string) error {
		return f.store.SaveProfile(f.Context(), name, revision, []byte(text))
	}
	f.must(save("paywell", 1, "name: paywell"))
	f.must(save("paywell", 1, "name: paywell"))
	f.must(save("paywell", 2, "name: paywell # new"))
	f.must(save("otherpay", 1, "name: otherpay"))
	if save("paywell", 1, "name: changed") == nil {
		f.Fatalf("a revision has two texts")
	}
}

func timesKept(f *fixture) {
	f.after(123_456_789) // finer than a store keeps, and not at a full second
	kept := func(t time.Time) time.Time { return t.Truncate(f.store.Precision()) }
	d := f.draft(crew("staff", 2)...)
	d.batch.CutoffAt = f.now.Add(100 * time.Hour)
	b := f.accept(d)
	t := b.token()
	same(f, "created at", t.Batch.CreatedAt.Equal(kept(f.now)), true)
	same(f, "cut-off", t.Batch.CutoffAt.Equal(kept(d.batch.CutoffAt)), true)
	w := f.claim()
	same(f, "heartbeat", b.token().HeartbeatAt.Equal(kept(f.now)), true)
	o := w.planFresh(b, 2)
	a := w.send(b, o)
	open := b.openAttempts()[0]
	same(f, "sent at", open.SentAt.Equal(kept(o.Attempt.SentAt)), true)
	same(f, "send before", open.SendBefore.Equal(kept(o.Attempt.SendBefore)), true)
	a.answer(lost)
	f.after(time.Hour)
	quiet, due, own := f.now.Add(11*time.Minute), f.now.Add(7), f.now.Add(999*time.Minute)
	w.decide(b, func(s payroll.Standing) payroll.Change {
		t := *s.Trouble
		t.QuietAt, t.DueAt, t.CutoffAt = quiet, due, own
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	}, 1)
	trouble := b.trouble(1)
	same(f, "first sent at", trouble.FirstSentAt.Equal(kept(o.Attempt.SentAt)), true)
	same(f, "quiet at", trouble.QuietAt.Equal(kept(quiet)), true)
	same(f, "due at", trouble.DueAt.Equal(kept(due)), true)
	same(f, "own cut-off", trouble.CutoffAt.Equal(kept(own)), true)
	w.decide(b, givenUp(payroll.OutcomeUnknown, payroll.StageResolve), 1, 2)
	same(f, "completed at", b.token().CompletedAt.Equal(kept(f.now)), true)
	same(f, "dead-lettered at", b.letter(1).DeadLetteredAt.Equal(kept(f.now)), true)
}
