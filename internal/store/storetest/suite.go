package storetest

import (
	"slices"
	"testing"

	"payrollgateway/internal/store"
)

// testcase is one promise.
type testcase struct {
	name string
	// without: what breaks where a store does not keep it; shown when it fails.
	without string
	run     func(f *fixture)
}

// CommitFaulter is a store that can be made to lose commits or their answers.
// Both backends offer it to their tests.
type CommitFaulter interface {
	// InjectCommitFault has hook asked before each commit of a write, with the
	// name of the method that commits ("Accept", "Open", "Apply", …). A nil error
	// lets it pass. With an error the committing code finds its connection lost:
	// applied says whether the commit took effect all the same. A nil hook ends
	// the faults. The hook may be called from several goroutines.
	InjectCommitFault(hook func(op string) (applied bool, err error))
}

// Run holds a store against the contract. open makes a fresh, empty store for
// each case and leaves closing it to the cleanup of the test it is given. The
// store should implement CommitFaulter; the faults part fails otherwise.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	parts := []struct {
		name  string
		cases []testcase
	}{
		{"basic", basicCases()},
		{"transactional", transactionalCases()},
		{"concurrent", concurrentCases()},
		{"faults", faultCases()},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			for _, c := range p.cases {
				t.Run(c.name, func(t *testing.T) { c.hold(t, open) })
			}
		})
	}
}

func (c testcase) hold(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	t.Parallel()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("without this: %s", c.without)
		}
	})
	f := newFixture(t, open(t))
	c.run(f)
	f.mustAddUpAtLast()
}

func basicCases() []testcase {
	return slices.Concat(intakeCases(), strictCases(), readerCases(), isolationCases(), replayCases(), gateCases(), timeCases(), sizeCases())
}

func transactionalCases() []testcase {
	return slices.Concat(contestCases(), followerCases(), mirrorCases(), versionCases(), correctionCases(), tokenCases(), fenceCases(),
		openCases(), lookUpCases(), applyCases(), refusalCases(), cancelCases(), amendCases(), letterCases(), walkCases())
}
