package benchmark

import (
	"fmt"
	"strings"
)

// Line is a result as a terminal shows it.
func Line(r Result) string {
	return fmt.Sprintf("  %s\n    %s   target %s   final %s   %s\n    (%s)\n",
		r.What, r.Unit.Format(r.Value), r.Now.in(r.Unit), r.Final.in(r.Unit), verdict(r), r.Note)
}

func verdict(r Result) string {
	switch {
	case !r.Met():
		return "MISSED"
	case !r.Final.Met(r.Value) && r.Now.None():
		return "not yet"
	case !r.Final.Met(r.Value):
		return "met; final not yet"
	default:
		return "met"
	}
}

// Where says what a page's figures were measured on.
type Where struct {
	Machine string // processor, how many, system
	Server  string // version of Postgres
	Date    string
	Commit  string
}

// Page is the results as the page of the documentation.
func Page(w Where, results []Result) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nWritten by `make bench`; do not edit. Every figure is a ratio of two interleaved runs on one machine, or a count:\n" +
		"compare ratios, not lines per second.\n\n")
	fmt.Fprintf(&b, "- machine: %s\n- database: %s, default durability\n- date: %s\n- commit: %s\n\n", w.Machine, w.Server, w.Date, w.Commit)
	b.WriteString("| figure | measured | target | final target | met | command |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | `scripts/bench.sh -only %s` |\n",
			r.What, r.Unit.Format(r.Value), r.Now.in(r.Unit), r.Final.in(r.Unit), verdict(r), r.Experiment)
	}
	b.WriteString("\nWhat stands behind the values:\n\n")
	for _, r := range results {
		fmt.Fprintf(&b, "- %s: %s\n", r.What, r.Note)
	}
	b.WriteString(method)
	return b.String()
}

const method = `
## How it is measured

- Intake: the reference table has a text key as primary key, a hash in hex, a jsonb payload, a state and two times. Its rows are made before the
  clock starts. Ours is everything from the first byte of the body to the 202, over loopback HTTP, in a gateway process.
- Dispatch: the bare loop reads a chunk, inserts an attempt, posts it, and inserts 250 results and closes the attempt in one transaction. It does
  not read what the vendor's answer says, and keeps no counts, no rate and no promise. Both sides use the same vendor process and the same server.
- The vendor is a process that answers every line with 200 at once and keeps nothing but the times of arrival.
- A checkpoint lies before each side of each round of intake and dispatch; the first round is not counted.
- Peak memory is the kernel's high-water mark of the gateway process (VmHWM).
`
