package vendor

import (
	"strconv"
	"strings"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// GateKind is what an answer does to the vendor's gate.
type GateKind int

// The effects on the gate.
const (
	GateNone     GateKind = iota
	GateThrottle          // closed for Wait, or for our own backoff where it is 0
	GateSuspend           // closed until a person has looked
	GateRefresh           // the credential is read again once; if that does not help, suspended
)

func (k GateKind) String() string {
	return [...]string{"none", "throttle", "suspend", "refresh"}[k]
}

// Reasons for which an answer suspends a vendor.
const (
	ReasonUnexpectedRedirect   = "unexpected_redirect"
	ReasonUnclassified         = "unclassified"
	ReasonForbidden            = "forbidden"
	ReasonNotFound             = "not_found"
	ReasonMethodNotAllowed     = "method_not_allowed"
	ReasonGone                 = "gone"
	ReasonUnsupportedMediaType = "unsupported_media_type"
)

// GateEffect is the second result of judging an answer.
type GateEffect struct {
	Kind   GateKind
	Wait   time.Duration // of a throttle, as the vendor asked; 0 = none given
	Reason string        // of a suspension
}

// Judgement is all that an answer means.
type Judgement struct {
	Lines       []payroll.Reading // one for each line of the chunk, in its order
	Gate        GateEffect
	Failed      bool            // counts towards an outage
	Answered    bool            // the vendor took the request and answered it: an outage ends
	RateLimited bool            // a 429 for the whole request
	Request     payroll.Verdict // of the request as a whole; 0 = by item
	Detail      string          // short; never a key, id or amount of the chunk
	Foreign     int             // items of the answer that name no line of the chunk
}

// requestRules is what an answer to a submitted chunk means.
var requestRules = []rule{
	{"kept back", nil, withheld, 0, saying{verdict: payroll.VerdictNotSent, class: payroll.ClassNone}},
	{"no connection", nil, unreached, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNetwork, effect: failed}},
	{"no answer", nil, silent, 0, lost},

	{"items", from(200, 299), named, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: byItem | answered}},
	{"no line named", from(200, 299), listed, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: answered}},
	{"not the vendor's answer", from(200, 299), 0, 0, lost},
	{"redirect", from(300, 399), 0, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, gate: GateSuspend, reason: ReasonUnexpectedRedirect}},

	{"conflict, items", on(409), named, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: byItem | answered}},
	{"conflict, split", on(409), several | lineKeys, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassNone, effect: halve | answered}},
	{"conflict", on(409), 0, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: answered}},

	{"refused, nothing applied", on(400, 422), several | indivisible, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, effect: halve | finished | answered}},
	{"refused, split", on(400, 422), several | lineKeys | remembers, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassNone, effect: halve | finished | answered}},
	{"refused, several", on(400, 422), several, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: answered}},
	{"refused", on(400, 422), indivisible, 0, refused},
	{"refused", on(400, 422), lineKeys, 0, refused},
	{"refused, scope unclear", on(400, 422), 0, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: answered}},

	{"too large, split", on(413), several, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, effect: halve | answered}},
	{"too large", on(413), 0, 0, saying{verdict: payroll.VerdictRejected, class: payroll.ClassNone, effect: answered}},

	{"credential", on(401), 0, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateRefresh}},
	{"account", on(403), 0, 0, barred(ReasonForbidden)},
	{"path", on(404), 0, 0, barred(ReasonNotFound)},
	{"method", on(405), 0, 0, barred(ReasonMethodNotAllowed)},
	{"moved away", on(410), 0, 0, barred(ReasonGone)},
	{"media type", on(415), 0, 0, barred(ReasonUnsupportedMediaType)},

	{"rate", on(429), 0, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateThrottle, effect: rateLimited}},
	{"asks to wait", on(503), hinted, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, gate: GateThrottle}},
	{"vendor's failure", on(408, 425, 500, 502, 503, 504), 0, 0, lost},
	{"unclassified", nil, 0, 0, unclassified},
}

var (
	lost    = saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, effect: failed}
	refused = saying{verdict: payroll.VerdictRejected, class: payroll.ClassNone, effect: decisive | answered}
)

// barred is a refusal that no line caused.
func barred(reason string) saying {
	return saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateSuspend, reason: reason}
}

// Judge says what an answer means for every line of the chunk it answers, and
// for the vendor's gate. It is a pure function. What the answer does not say of
// a line never settles that line and never fails it.
func (p *Profile) Judge(c Chunk, x Exchange) Judgement {
	a, sheet := readItems(c, x)
	facts := p.facts(x, a)
	if len(c.Lines) > 1 {
		facts |= several
	}
	if sheet.listed {
		facts |= listed
	}
	if sheet.names > 0 {
		facts |= named
	}
	s := p.soften(match(requestRules, x.Status, facts).says, x.Status, payroll.VerdictReturned)
	j := p.judgement(s, facts, a, c.Lines...)
	if s.effect&byItem != 0 {
		j.Request = 0
		p.judgeItems(&j, c, sheet, facts)
	}
	j.Foreign = sheet.foreign
	return j
}

// soften makes a "no" of an unknown where the profile says that the status
// certainly had no effect. A wait that the vendor asked for then costs no retry.
func (p *Profile) soften(s saying, status int, no payroll.Verdict) saying {
	if s.verdict == payroll.VerdictUnknown && p.harmless(status) {
		s.verdict = no
		if s.gate == GateThrottle {
			s.class = payroll.ClassNone
		}
	}
	return s
}

// facts are those that the exchange and the profile give, without its lines.
func (p *Profile) facts(x Exchange, a answer) (f fact) {
	note := func(holds bool, what fact) {
		if holds {
			f |= what
		}
	}
	note(x.withheld(), withheld)
	note(x.unsent() && !x.withheld(), unreached)
	note(x.Status == 0 && !x.unsent(), silent)
	note(a.object, spoken)
	note(a.hinted, hinted)
	note(p.Submit.Atomic, indivisible)
	note(p.Idempotency.Scope == retry.KeyLine, lineKeys)
	note(p.Idempotency.Scope == retry.KeyRequest && p.Policy().HonoursKeys(), wholeKeys)
	note(p.Idempotency.Retention > 0, remembers)
	note(p.Idempotency.Conflict == retry.ConflictDone, settles409)
	return f
}

// judgement spells out what a saying means for a request with these lines.
func (p *Profile) judgement(s saying, f fact, a answer, lines ...ChunkLine) Judgement {
	r := payroll.Reading{
		Verdict: s.verdict, Class: s.class, Status: a.status, Detail: a.describe(lines),
		Decisive: s.effect&decisive != 0 && f&spoken != 0 && p.Policy().HonoursKeys(),
		Finished: s.effect&finished != 0,
	}
	if s.effect&halve != 0 {
		r.MaxChunk = (len(lines) + 1) / 2
	}
	j := Judgement{
		Lines:       make([]payroll.Reading, len(lines)),
		Gate:        GateEffect{Kind: s.gate, Reason: s.reason},
		Failed:      s.effect&failed != 0,
		Answered:    s.effect&answered != 0 && f&spoken != 0,
		RateLimited: s.effect&rateLimited != 0,
		Request:     s.verdict,
		Detail:      r.Detail,
	}
	if s.gate == GateThrottle {
		j.Gate.Wait = a.wait
	}
	for i := range j.Lines {
		j.Lines[i] = r
	}
	return j
}

// describe is what is said of a request as a whole: the status or the lack of
// one, and why, or the vendor's own words without what must not be shown.
func (a answer) describe(lines []ChunkLine) string {
	text := "no answer"
	if a.status != 0 {
		text = "status " + strconv.Itoa(a.status)
	}
	if a.err != nil {
		return text + ": " + strings.TrimPrefix(known(a.err).Error(), "vendor: ")
	}
	if words := scrub(a.words, lines...); words != "" {
		return shorten(text + ": " + words)
	}
	return text
}
