package vendor

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/payroll"
)

// lookUpRules is what an answer to the question for one key means.
var lookUpRules = []rule{
	{"kept back", nil, withheld, 0, saying{verdict: payroll.VerdictNotSent, class: payroll.ClassNone}},
	{"no connection", nil, unreached, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNetwork, effect: failed}},
	{"no answer", nil, silent, 0, lookUpLost},

	{"record", on(200), found, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, effect: compare | answered}},
	{"not final", from(200, 299), found, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, effect: answered}},
	{"not the vendor's answer", from(200, 299), 0, 0, lookUpLost},
	{"redirect", from(300, 399), 0, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, gate: GateSuspend, reason: ReasonUnexpectedRedirect}},

	{"absent", on(404), absent, 0, saying{verdict: payroll.VerdictAbsent, class: payroll.ClassNone, effect: answered}},
	{"somebody else's 404", on(404), 0, 0, lookUpOpen},
	{"question refused", on(400, 409, 413, 422), 0, 0, lookUpOpen},

	{"credential", on(401), 0, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateRefresh}},
	{"account", on(403), 0, 0, barred(ReasonForbidden)},
	{"method", on(405), 0, 0, barred(ReasonMethodNotAllowed)},
	{"moved away", on(410), 0, 0, barred(ReasonGone)},
	{"media type", on(415), 0, 0, barred(ReasonUnsupportedMediaType)},

	{"rate", on(429), 0, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateThrottle, effect: rateLimited}},
	{"asks to wait", on(503), hinted, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, gate: GateThrottle}},
	{"vendor's failure", on(408, 425, 500, 502, 503, 504), 0, 0, lookUpLost},
	{"unclassified", nil, 0, 0, saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, gate: GateSuspend, reason: ReasonUnclassified}},
}

var (
	lookUpOpen = saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp}
	lookUpLost = saying{verdict: payroll.VerdictUnknown, class: payroll.ClassLookUp, effect: failed}
)

// record is the standard look-up's answer; "" = absent or of a wrong type.
type record struct {
	key, status, amount, currency, employee, version, reference string
}

// JudgeLookUp says what the answer to a look-up means for the line: Settled
// (as looked up), Mismatch, Absent, Unknown, Returned or NotSent. It is pure.
// The Judgement has one reading.
func (p *Profile) JudgeLookUp(l ChunkLine, x Exchange) Judgement {
	var r record
	a := read(x, r.take)
	facts := p.facts(x, a)
	if a.object && r.key != "" && r.status != "" {
		facts |= found
	}
	if a.object && isJSON(x.Header) && (r.key == "" || r.key == l.Key) {
		facts |= absent
	}
	s := match(lookUpRules, x.Status, facts).says
	j := p.judgement(s, facts, a, l)
	if s.effect&compare != 0 {
		j.Lines[0] = r.compare(l, j.Lines[0])
		j.Request, j.Detail = j.Lines[0].Verdict, j.Lines[0].Detail
	}
	return j
}

// isJSON: the answer calls itself JSON, application/problem+json among them.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == jsonType || strings.HasSuffix(kind, "+json"))
}

func (r *record) take(name string, d *jsontext.Decoder) (err error) {
	switch name {
	case "key":
		r.key, _, err = readText(d)
	case "status":
		r.status, _, err = readScalar(d)
	case "gross_pay":
		r.amount, _, err = readScalar(d)
	case "currency":
		r.currency, _, err = readText(d)
	case "employee_id":
		r.employee, _, err = readText(d)
	case "line_version":
		r.version, _, err = readScalar(d)
	case "reference":
		r.reference, _, err = readScalar(d)
	default:
		err = d.SkipValue()
	}
	return err
}

// compare says whether the record is the payment that was asked for. base is
// the reading of a record that proves nothing.
func (r *record) compare(l ChunkLine, base payroll.Reading) payroll.Reading {
	status := statusOf(r.status)
	if status > 0 {
		base.Status = status
	}
	switch {
	case !on(200, 201, 204).has(status):
		base.Detail = "the look-up found it, not finally paid"
	case r.amount == "" || r.version == "":
		base.Detail = "the look-up's record lacks the amount or the version"
	case !r.agrees(l):
		base.Verdict, base.Class = payroll.VerdictMismatch, payroll.ClassNone
		base.Detail = "the look-up found another key, employee, amount, currency or version"
	default:
		base.Verdict, base.Class, base.As = payroll.VerdictSettled, payroll.ClassNone, payroll.LookedUp
		base.Detail, base.Reference = "", shorten(r.reference)
	}
	return base
}

// agrees compares what must agree, and what the record has beyond that.
func (r *record) agrees(l ChunkLine) bool {
	amount, err := payroll.ParseAmount("gross_pay", r.amount, l.Line.Currency)
	return r.key == l.Key && err == nil && amount == l.Line.Amount &&
		r.version == strconv.Itoa(int(l.Line.Version)) &&
		(r.employee == "" || r.employee == l.Line.EmployeeID) &&
		(r.currency == "" || r.currency == l.Line.Currency)
}
