package payroll_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
)

// walk is the state machine written down a second time, by hand: a row a
// state, a column an event, "." where nothing may happen.
const walk = `
               sent      paid    refused  lost    untouched given_up      withdrawn replaced   replayed reopened
pending        in_flight settled .        .       .         dead_lettered cancelled superseded .        .
in_flight      .         settled retrying unknown pending   dead_lettered cancelled superseded .        .
retrying       in_flight settled .        .       .         dead_lettered cancelled superseded .        .
unknown        in_flight settled .        unknown pending   dead_lettered cancelled superseded .        .
settled        .         .       .        .       .         .             .         .          .        .
dead_lettered  .         settled .        .       .         .             cancelled superseded pending  unknown
cancelled      .         .       .        .       .         .             .         .          .        .
superseded     .         .       .        .       .         .             .         .          .        .
`

// arrow is from + " " + event.
type arrows map[string]string

func table(t *testing.T) arrows {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(walk), "\n")
	events := strings.Fields(rows[0])
	all := arrows{}
	for _, row := range rows[1:] {
		cells := strings.Fields(row)
		if len(cells) != len(events)+1 {
			t.Fatalf("row %q has %d cells", row, len(cells))
		}
		for i, to := range cells[1:] {
			if to != "." {
				all[cells[0]+" "+events[i]] = to
			}
		}
	}
	return all
}

// compare walks every pair of state and event.
func compare(t *testing.T, source string, want arrows) {
	t.Helper()
	known := 0
	for _, from := range payroll.States {
		for _, event := range payroll.Events {
			to, ok := payroll.Transition(from, event)
			there, drawn := want[from.String()+" "+event.String()]
			if drawn {
				known++
			}
			switch {
			case ok != drawn:
				t.Errorf("%s: %s on %s: in code %v, here %v", source, from, event, ok, drawn)
			case ok && to.String() != there:
				t.Errorf("%s: %s on %s: in code %s, here %s", source, from, event, to, there)
			case !ok && to != 0:
				t.Errorf("%s on %s is refused and gives %s", from, event, to)
			}
		}
	}
	if known != len(want) {
		t.Errorf("%s has %d arrows, of which %d are between known states on known events", source, len(want), known)
	}
}

func TestEveryStateMeetsEveryEvent(t *testing.T) {
	t.Parallel()
	compare(t, "the table of this test", table(t))
}

func TestTransitionRefusesWhatIsNoStateOrEvent(t *testing.T) {
	t.Parallel()
	for _, s := range []payroll.State{0, 9, -1} {
		for _, e := range payroll.Events {
			if to, ok := payroll.Transition(s, e); ok {
				t.Errorf("state %d on %s gives %s", s, e, to)
			}
		}
	}
	for _, s := range payroll.States {
		for _, e := range []payroll.Event{0, 11, -1} {
			if to, ok := payroll.Transition(s, e); ok {
				t.Errorf("%s on event %d gives %s", s, e, to)
			}
		}
	}
}

var (
	diagramArrow = regexp.MustCompile(`(?m)^\s+(\w+) --> (\w+): (\w+)$`)
	tableArrow   = regexp.MustCompile(`(?m)^\| (\w+) \| (\w+) \| (\w+) \| (\S.{20,}) \|$`)
)

// TestDocumentedDiagramIsTheCode reads docs/state-machine.md: the arrows of the
// diagram and the rows of the table that explains them are those of the code.
func TestDocumentedDiagramIsTheCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, opened := strings.Cut(string(text), "```mermaid\nstateDiagram-v2\n")
	diagram, rest, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		t.Fatal("no state diagram in the document")
	}
	drawn, explained := arrows{}, arrows{}
	for _, m := range diagramArrow.FindAllStringSubmatch(diagram, -1) {
		drawn[m[1]+" "+m[3]] = m[2]
	}
	_, rest, _ = strings.Cut(rest, "|---|---|---|---|\n") // after the table's head
	for _, m := range tableArrow.FindAllStringSubmatch(rest, -1) {
		explained[m[1]+" "+m[2]] = m[3]
	}
	compare(t, "the diagram", drawn)
	compare(t, "the table of meanings", explained)
	if n := strings.Count(diagram, " --> "); n != len(drawn)+1+4 { // one start, four ends
		t.Errorf("%d arrows in the diagram, %d of them read", n, len(drawn))
	}
	for _, s := range payroll.States {
		if ends := strings.Contains(diagram, "\n  "+s.String()+" --> [*]\n"); ends != s.AtRest() {
			t.Errorf("%s: end state in code %v, in the diagram %v", s, s.AtRest(), ends)
		}
	}
}

// TestEndStatesStay: what is settled, cancelled or superseded never moves, and
// nothing open is without a way to an end.
func TestEndStatesStay(t *testing.T) {
	t.Parallel()
	for _, s := range payroll.States {
		exits, ends := 0, 0
		for _, e := range payroll.Events {
			if to, ok := payroll.Transition(s, e); ok {
				exits++
				if to.AtRest() {
					ends++
				}
			}
		}
		if stays := s.AtRest() && s != payroll.DeadLettered; stays && exits > 0 {
			t.Errorf("%s has %d exits", s, exits)
		}
		if !s.AtRest() && ends < 4 {
			t.Errorf("%s reaches %d of the end states at once", s, ends)
		}
	}
}

// TestUnknownIsNeverRetried guards the resend of an open attempt: the arrow from unknown to
// retrying let a cancel overtake a payment.
func TestUnknownIsNeverRetried(t *testing.T) {
	t.Parallel()
	for _, e := range payroll.Events {
		if to, ok := payroll.Transition(payroll.Unknown, e); ok && to == payroll.Retrying {
			t.Errorf("unknown becomes retrying on %s", e)
		}
	}
}
