package vendor

import "payrollgateway/internal/payroll"

// fact is something about a request and its answer that a rule may ask for.
type fact uint16

const (
	withheld    fact = 1 << iota // we ourselves wrote nothing
	unreached                    // nothing could be written: no connection
	silent                       // written, but no whole status line and header came back
	several                      // the request carried more than one line
	named                        // the body is whole and names a line that was sent
	spoken                       // the body is whole and one JSON object: the vendor's own words
	listed                       // and it has a list of results, whatever is in it
	hinted                       // it asks to wait, in a form that is read
	found                        // a look-up: the body is a record, with a key and a status
	absent                       // a look-up: the vendor's own JSON, about no other key than the one asked for
	indivisible                  // profile: a 4xx for the request applied nothing
	lineKeys                     // profile: the key is in each line
	wholeKeys                    // profile: the key is the request's, and every answer to it is remembered
	remembers                    // profile: the vendor surely remembers keys for a while
	settles409                   // profile: an item's 409 means that it was done
)

// statuses is a set of HTTP statuses.
type statuses []span

type span struct{ first, last int }

func on(list ...int) (s statuses) {
	for _, status := range list {
		s = append(s, span{status, status})
	}
	return s
}

func from(first, last int) statuses { return statuses{{first, last}} }

func (s statuses) has(status int) bool {
	for _, part := range s {
		if part.first <= status && status <= part.last {
			return true
		}
	}
	return len(s) == 0
}

// rule is one row of a table: when it applies and what it says. An empty set of
// statuses is any. Tables are read from the top, the first match counts, and
// the last row matches everything.
type rule struct {
	name   string
	status statuses
	with   fact // all of these
	not    fact // and none of these
	says   saying
}

// saying is the meaning of an answer, or of one item of it.
type saying struct {
	verdict payroll.Verdict
	class   payroll.RetryClass
	as      payroll.SettledAs
	effect  effect
	gate    GateKind
	reason  string // of a suspension
}

// effect is what a saying adds to its verdict.
type effect uint16

const (
	byItem      effect = 1 << iota // the items speak for the lines that they name, the verdict for the others
	halve                          // the next request with one of the lines carries half as many
	finished                       // the vendor has done with the request, whatever it did
	decisive                       // where keys are honoured: the vendor read the line's key and says no
	conflict                       // an item's 409
	failed                         // counts towards an outage
	answered                       // if the vendor's own words: it is there, an outage ends
	rateLimited                    // a 429 for the whole request
	compare                        // the record is compared with the line
)

// match returns what the first matching row says.
func match(table []rule, status int, facts fact) rule {
	for _, r := range table {
		if r.status.has(status) && facts&r.with == r.with && facts&r.not == 0 {
			return r
		}
	}
	return rule{name: "no row matches", says: unclassified}
}

// unclassified is what nobody has thought of: the fate is open, a person looks.
var unclassified = saying{
	verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, gate: GateSuspend, reason: ReasonUnclassified,
}
