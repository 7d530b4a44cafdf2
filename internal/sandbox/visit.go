package sandbox

import (
	"net/http"
	"time"
)

// visit is one request on its way through the server.
type visit struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	gone <-chan struct{} // closed when the caller hung up
	seq  int64           // of the request's record
	mark int64           // the journal must be on disk up to here before anything is said
	here bool            // counted as in flight; guarded by the server's lock
}

// refusal is an answer given at the edge, before any line was looked at.
type refusal struct {
	why    Refusal
	answer answer
}

// submit serves one posted body: admit, wait, work, answer.
func (v *visit) submit(body []byte) {
	sub, syntax := decode(body)
	sub.BodyHash, sub.RequestKey = hexHash(body), v.r.Header.Get(v.s.cfg.KeyHeader)
	p, refused, err := v.admit(sub, syntax)
	switch {
	case err != nil:
		v.breakDown()
	case refused != nil:
		v.deliver(refused.answer, Fault{}, 0)
	case !v.pause(v.delay(p)):
		v.abort()
	case !p.fault.Commits():
		v.deliver(answer{}, p.fault, p.luck.draw("cut"))
	default:
		v.commit(sub, p)
	}
}

// admit journals a submission and decides what will go wrong with it.
func (v *visit) admit(sub submission, syntax error) (plan, *refusal, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	refused := v.atTheEdge(now)
	if refused == nil {
		refused = s.screen(sub, syntax)
	}
	p := plan{carrier: -1, items: make([]itemFate, len(sub.Lines))}
	if refused == nil {
		p = decide(&s.cfg, s.history, sub)
	}
	return p, refused, v.enter(requestRecord(sub, p), refused, now)
}

// atTheEdge is what every request meets first: the token, then the rate.
func (v *visit) atTheEdge(now time.Time) *refusal {
	if !v.s.authorised(v.r) {
		return &refusal{RefusedToken, problem(http.StatusUnauthorized, "unauthorized", "")}
	}
	if wait := v.s.window.admit(now); wait > 0 {
		return &refusal{RefusedRate, problem(http.StatusTooManyRequests, "rate_limited", "").withHint(wait)}
	}
	return nil
}

// screen refuses bodies that the vendor does not even begin with.
func (s *Server) screen(sub submission, syntax error) *refusal {
	switch {
	case syntax != nil:
		return &refusal{RefusedSyntax, problem(http.StatusBadRequest, "bad_request", syntax.Error())}
	case len(sub.Lines) > s.cfg.MaxLines:
		return &refusal{RefusedSize, problem(http.StatusRequestEntityTooLarge, "too_many_lines", "")}
	case s.book.honours(ScopeRequest) && sub.RequestKey == "":
		return &refusal{RefusedKeyMissing, problem(http.StatusBadRequest, "key_missing", "header "+s.cfg.KeyHeader+" is needed")}
	}
	return nil
}

func requestRecord(sub submission, p plan) *Request {
	r := &Request{
		RequestKey: sub.RequestKey, BodySHA256: sub.BodyHash, LineCount: len(sub.Lines),
		Fault: p.fault.String(), Magic: p.carrier >= 0,
	}
	for i, l := range sub.Lines {
		fate := p.items[i]
		if i == p.carrier {
			fate = itemFate{p.fault, true}
		}
		r.Lines = append(r.Lines, RequestLine{l.Key, l.Payload, fate.fault.String(), fate.magic})
	}
	return r
}

// enter journals the request and counts it. The server's lock is held.
func (v *visit) enter(r *Request, refused *refusal, now time.Time) error {
	v.s.inFlight++
	v.here = true
	r.Type, r.Method, r.Path, r.InFlight = TypeRequest, v.r.Method, v.r.URL.Path, v.s.inFlight
	if refused != nil {
		r.Refused = refused.why
	}
	v.s.history.note(r)
	v.s.summary.noteRequest(r)
	err := v.append(now, r)
	v.seq = r.Seq
	return err
}

// append journals records and raises the mark. The server's lock is held, so
// the order of the journal is the order of the work.
func (v *visit) append(now time.Time, records ...record) error {
	if len(records) == 0 {
		return nil
	}
	mark, err := v.s.journal.Append(now, records...)
	v.mark = max(v.mark, mark)
	return err
}

// delay is the time the vendor takes before its commit.
func (v *visit) delay(p plan) time.Duration {
	d := v.s.cfg.Latency + time.Duration(p.luck.draw("jitter")*float64(v.s.cfg.Jitter))
	if p.fault.Kind == KindSlow && p.fault.Stage == BeforeCommit {
		d += v.slowFor()
	}
	return d
}

func (v *visit) slowFor() time.Duration { return min(v.s.cfg.SlowFor, v.s.cfg.MaxHold) }

// pause lets time pass whether or not the caller is still there: a vendor works
// on. It is false when the server closes.
func (v *visit) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	fired, stop := v.s.cfg.Clock.After(d)
	defer stop()
	for gone := v.gone; ; gone = nil {
		select {
		case <-fired:
			return true
		case <-v.s.closed:
			return false
		case <-gone:
			v.leave()
		}
	}
}

// linger lets time pass while the caller is there. It is false when the caller
// goes or the server closes first.
func (v *visit) linger(d time.Duration) bool {
	fired, stop := v.s.cfg.Clock.After(d)
	defer stop()
	select {
	case <-fired:
		return true
	case <-v.s.closed:
	case <-v.gone:
	}
	return false
}

// leave takes the request out of those in flight, once.
func (v *visit) leave() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.here {
		v.s.inFlight--
		v.here = false
	}
}

// commit does the work, journals it, and answers.
func (v *visit) commit(sub submission, p plan) {
	a, err := v.work(sub, p)
	if err != nil {
		v.breakDown()
		return
	}
	v.deliver(a, p.fault, p.luck.draw("cut"))
}

func (v *visit) work(sub submission, p plan) (answer, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	if a, stored := s.book.storedAnswer(sub, now); stored {
		return a, nil
	}
	out := s.book.execute(sub, p.items, now)
	a := s.book.answerFor(out, p)
	var records []record
	for _, e := range out.effects {
		e.RequestSeq = v.seq
		s.summary.noteEffect(*e)
		records = append(records, e)
	}
	for _, m := range append(out.memories, s.book.memorise(sub, a, now)...) {
		records = append(records, m)
	}
	return a, v.append(now, records...)
}

// lookUp serves one look-up of a line key.
func (v *visit) lookUp(key string) {
	a, f, err := v.find(key)
	if err != nil {
		v.breakDown()
		return
	}
	v.deliver(a, f, 0.5)
}

func (v *visit) find(key string) (answer, Fault, error) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	r := &Request{LineCount: 1, Lines: []RequestLine{{Key: key}}}
	refused := v.atTheEdge(now)
	if refused != nil {
		return refused.answer, Fault{}, v.enter(r, refused, now)
	}
	f := decideLookUp(&s.cfg, s.history, key)
	r.Fault = f.String()
	return s.book.lookUp(key, now), f, v.enter(r, nil, now)
}

// noRoute answers what a router answers: a text, so that nobody mistakes it for
// the vendor's own "not found".
func (v *visit) noRoute() {
	v.s.mu.Lock()
	err := v.enter(&Request{}, &refusal{why: RefusedRoute}, v.s.cfg.Clock.Now())
	v.s.mu.Unlock()
	if err != nil {
		v.breakDown()
		return
	}
	text := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	v.deliver(answer{http.StatusNotFound, text, []byte("404 page not found\n")}, Fault{}, 0)
}
