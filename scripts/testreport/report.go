package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`, as described by `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build event, which has no Package
	Test       string
	Output     string
}

// test names a test of a package; an empty Name is the package itself.
type test struct{ Package, Name string }

// report counts what ended how, and holds the output of tests that have not ended.
type report struct {
	out     io.Writer
	pending map[test]*strings.Builder
	skipped []test
	failed  int // tests, and packages that failed or did not build
	passed  int
}

func newReport(out io.Writer) *report {
	return &report{out: out, pending: map[test]*strings.Builder{}}
}

// readAll takes events until in ends. A line that is no event is shown as it is
// and counts as a failure: go test says that way that it could not start.
func (r *report) readAll(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		r.failed++
		fmt.Fprintf(r.out, "%s\n", strings.TrimRight(string(line), "\n"))
		return
	}
	r.take(e)
}

func (r *report) take(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed++
	case "output":
		r.output(t, e.Output)
	case "pass":
		r.ended(t, &r.passed)
	case "fail":
		r.show(t)
		r.ended(t, &r.failed)
	case "skip":
		if t.Name != "" { // else: a package without test files
			r.show(t)
			r.skipped = append(r.skipped, t)
		}
		r.forget(t)
	}
}

// output prints the lines that close a package at once and keeps the rest until
// it is known whether they matter.
func (r *report) output(t test, text string) {
	if t.Name == "" && isClosing(text) {
		fmt.Fprint(r.out, text)
		return
	}
	if r.pending[t] == nil {
		r.pending[t] = &strings.Builder{}
	}
	r.pending[t].WriteString(text)
}

func isClosing(text string) bool {
	for _, prefix := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

func (r *report) show(t test) {
	if kept := r.pending[t]; kept != nil {
		fmt.Fprint(r.out, kept.String())
	}
}

func (r *report) forget(t test) { delete(r.pending, t) }

// ended counts a test; of packages only the failed ones count, for a package may
// fail while all its tests pass (a panic, a race found at exit, a timeout).
func (r *report) ended(t test, count *int) {
	if t.Name != "" || count == &r.failed {
		*count++
	}
	r.forget(t)
}

// close shows what never ended (the process died under it), then the counts.
func (r *report) close() int {
	for t := range r.pending {
		if t.Name != "" {
			r.failed++
			fmt.Fprintf(r.out, "--- never ended: %s %s\n", t.Package, t.Name)
			r.show(t)
		}
	}
	for _, t := range r.skipped {
		fmt.Fprintf(r.out, "skipped, which counts as failed: %s %s\n", t.Package, t.Name)
	}
	fmt.Fprintf(r.out, "tests passed: %d, failed: %d, skipped: %d\n", r.passed, r.failed, len(r.skipped))
	if r.failed > 0 || len(r.skipped) > 0 || r.passed == 0 {
		return 1
	}
	return 0
}
