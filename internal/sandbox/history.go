package sandbox

import "net/http"

// tally counts what one thing went through: how often it was seen, how many
// faults were drawn for it, how many its magic id asked for.
type tally struct {
	seen, drawn, magic int
}

// history counts the occasions on which faults may strike. It is made of
// request records alone, so that a restarted sandbox goes on where it was.
type history struct {
	bodies  map[string]*tally // by hash of the body
	lines   map[string]*tally // by line key without its generation
	lookUps map[string]*tally // by key
}

func newHistory() *history {
	return &history{map[string]*tally{}, map[string]*tally{}, map[string]*tally{}}
}

// of reads a count; what was never seen counts zero.
func of(counts map[string]*tally, name string) tally {
	if t := counts[name]; t != nil {
		return *t
	}
	return tally{}
}

func at(counts map[string]*tally, name string) *tally {
	if counts[name] == nil {
		counts[name] = &tally{}
	}
	return counts[name]
}

// note counts one request. Requests refused at the edge are not counted: they
// depend on the caller's timing, and the seed's decisions must not.
func (h *history) note(r *Request) {
	switch {
	case r.Refused != "":
	case r.Method == http.MethodGet:
		h.noteLookUp(r)
	default:
		h.noteSubmission(r)
	}
}

func (h *history) noteLookUp(r *Request) {
	for _, l := range r.Lines {
		t := at(h.lookUps, l.Key)
		t.seen++
		if r.Fault != "" {
			t.drawn++
		}
	}
}

// noteSubmission: a drawn fault of the whole request is a fault of each of its
// lines; one that a line's magic id asked for is that line's alone.
func (h *history) noteSubmission(r *Request) {
	at(h.bodies, r.BodySHA256).seen++
	for _, l := range r.Lines {
		t := at(h.lines, withoutGeneration(l.Key))
		t.seen++
		switch {
		case l.Magic:
			t.magic++
		case l.Fault != "":
			t.drawn++
		}
		if r.Fault != "" && !r.Magic {
			t.drawn++
		}
	}
}
