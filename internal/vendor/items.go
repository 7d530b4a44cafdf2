package vendor

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/payroll"
)

// itemRules is what one item of an answer means for the line that it names.
// A status that is none (-1) is one that nobody knows.
var itemRules = []rule{
	{"paid", on(200, 201, 204), 0, 0, saying{verdict: payroll.VerdictSettled, class: payroll.ClassNone, as: payroll.Created}},
	{"paid before", on(208), 0, 0, saying{verdict: payroll.VerdictSettled, class: payroll.ClassNone, as: payroll.Duplicate}},
	{"conflict, done", on(409), settles409, 0, saying{verdict: payroll.VerdictSettled, class: payroll.ClassNone, as: payroll.Duplicate, effect: conflict}},
	{"conflict", on(409), 0, 0, itemOpen},
	{"rate", on(429), 0, 0, saying{verdict: payroll.VerdictRetry, class: payroll.ClassRateLimited}},
	{"later", on(425, 503), 0, 0, saying{verdict: payroll.VerdictRetry, class: payroll.ClassVendorError}},
	{"credential", on(401), 0, 0, saying{verdict: payroll.VerdictReturned, class: payroll.ClassNone, gate: GateRefresh}},
	{"timeout", on(408), 0, 0, itemOpen},
	{"refused", from(400, 499), 0, 0, saying{verdict: payroll.VerdictRejected, class: payroll.ClassNone, effect: decisive}},
	{"no final success", nil, 0, 0, itemOpen},
}

var itemOpen = saying{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError}

// item is one element of the standard answer's results.
type item struct {
	key       string
	status    int // -1 = none that can be read
	detail    string
	reference string
	hint      time.Duration
}

// sheet is an answer's items sorted to the lines of the chunk.
type sheet struct {
	index   map[string]int // lines by key; -1 = two lines have it
	items   []item         // by line
	seen    []sighting
	listed  bool // there was a list
	names   int  // lines that are named
	foreign int
}

type sighting byte

const (
	unseen sighting = iota
	seen
	contradicted
)

// newSheet is an empty sheet for a chunk.
func newSheet(lines []ChunkLine) *sheet {
	s := &sheet{index: make(map[string]int, len(lines)), items: make([]item, len(lines)), seen: make([]sighting, len(lines))}
	for i, l := range lines {
		if _, doubled := s.index[l.Key]; doubled {
			i = -1
		}
		s.index[l.Key] = i
	}
	return s
}

// take notes an item. Two items of one line must say the same.
func (s *sheet) take(it item) {
	i, ours := s.index[it.key]
	switch {
	case !ours || i < 0:
		s.foreign++
	case s.seen[i] == unseen:
		s.seen[i], s.items[i] = seen, it
		s.names++
	case s.items[i].status != it.status || s.items[i].reference != it.reference:
		s.seen[i] = contradicted
	}
}

// readItems reads an answer to a chunk, its items sorted to the lines.
func readItems(c Chunk, x Exchange) (answer, *sheet) {
	s := newSheet(c.Lines)
	a := read(x, func(name string, d *jsontext.Decoder) error {
		if name != "results" || d.PeekKind() != '[' {
			return d.SkipValue()
		}
		s.listed = true
		return walkArray(d, func() error {
			it, ok, err := readItem(d, x)
			if ok {
				s.take(it)
			}
			return err
		})
	})
	if !a.object {
		s = newSheet(c.Lines)
	}
	return a, s
}

// readItem reads one element of results; ok is false where it is no object.
func readItem(d *jsontext.Decoder, x Exchange) (it item, ok bool, err error) {
	if d.PeekKind() != '{' {
		return it, false, d.SkipValue()
	}
	it.status = -1
	err = walkObject(d, func(name string, d *jsontext.Decoder) (err error) {
		switch name {
		case "key":
			it.key, _, err = readText(d)
		case "status":
			var text string
			text, _, err = readScalar(d)
			it.status = statusOf(text)
		case "detail":
			it.detail, _, err = readText(d)
		case "reference":
			it.reference, _, err = readScalar(d)
		case "retry_after":
			var text string
			text, _, err = readScalar(d)
			it.hint, _ = parseWait(text, x.Header, x.Received)
		default:
			err = d.SkipValue()
		}
		return err
	})
	return it, err == nil, err
}

// judgeItems replaces the readings of the lines that the answer names.
func (p *Profile) judgeItems(j *Judgement, c Chunk, s *sheet, facts fact) {
	for i := range c.Lines {
		r := &j.Lines[i]
		switch s.seen[i] {
		case unseen:
			r.Detail = "the answer does not name the line"
		case contradicted:
			r.Detail = "the answer says two things about the line"
		case seen:
			var gate GateKind
			*r, gate = p.readingOf(s.items[i], c.Lines[i], facts, r.Status)
			if gate != GateNone {
				j.Gate.Kind = gate
			}
		}
	}
}

// readingOf is what one item says about its line.
func (p *Profile) readingOf(it item, l ChunkLine, facts fact, request int) (payroll.Reading, GateKind) {
	s := p.soften(match(itemRules, it.status, facts).says, it.status, payroll.VerdictRetry)
	r := payroll.Reading{
		Verdict: s.verdict, Class: s.class, As: s.as, Status: it.status,
		Detail: scrub(it.detail, l), Reference: shorten(it.reference),
		Decisive: s.decides(facts),
		Conflict: s.effect&conflict != 0,
	}
	if s.verdict == payroll.VerdictRetry {
		r.Hint = it.hint
	}
	if it.status < 0 {
		r.Status = request
	}
	if r.Detail == "" && s.verdict != payroll.VerdictSettled {
		r.Detail = "item status " + itemStatus(it.status)
	}
	return r, s.gate
}

// decides reports whether an item's "no" comes from behind the key check. Under
// a request key whose answers are remembered every item does: the answer is the
// stored one, or there was none.
func (s saying) decides(facts fact) bool {
	no := s.verdict == payroll.VerdictRetry || s.verdict == payroll.VerdictRejected
	return facts&wholeKeys != 0 && no || facts&lineKeys != 0 && s.effect&decisive != 0
}

func itemStatus(status int) string {
	if status < 0 {
		return "cannot be read"
	}
	return strconv.Itoa(status)
}
