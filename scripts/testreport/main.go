// Command testreport stands between `go test -json` and a person: it prints the
// lines go test itself would have closed each package with ("ok", "FAIL"), the
// whole output of every test that failed, and one closing line of counts.
//
// It exits 1 when a test failed, when a package did not build, when no test ran
// at all, and when a test was skipped: a skipped test is a promise nobody looked
// at, and must not pass for one that was kept. It decides nothing else; what is
// run, and how, stands in scripts/test.sh.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Stdin, os.Stdout))
}

// run reads events until in ends and returns the exit status.
func run(in io.Reader, out io.Writer) int {
	r := newReport(out)
	if err := r.readAll(in); err != nil {
		fmt.Fprintf(out, "testreport: reading the events of go test: %v\n", err)
		return 1
	}
	return r.close()
}
