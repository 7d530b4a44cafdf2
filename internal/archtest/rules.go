package archtest

import (
	"fmt"
	"go/build/constraint"
	"slices"
	"strings"
)

// rule is one habit; check lists where it is not kept.
type rule struct {
	name, why string
	check     func(*house) []string
}

var rules = []rule{
	{"every package has its room", "a stranger finds a package's place, and its reason, in one table", everyPackageHasItsRoom},
	{"arrows point down", "a lower floor can be read, tested and trusted without the upper ones", arrowsPointDown},
	{"libraries have owners", "what only one package imports can be replaced in one package", librariesHaveOwners},
	{"only commands read the environment", "everything else is given its settings, so tests and replicas can give others", onlyCommandsReadTheEnvironment},
	{"test support stays in tests", "the product must not lean on fakes", testSupportStaysInTests},
	{"vendor stays flat", "the go command takes what lies below a directory named vendor for vendored code and silently leaves out its tests", vendorStaysFlat},
	{"every package says what it is for", "and what must not be put there", everyPackageSaysWhatItIsFor},
	{"tests do not sleep", "a sleep is a guess; tests wait on facts or on a clock they hold", testsDoNotSleep},
	{"tests are not skipped", "nobody looks at a promise whose test was skipped", testsAreNotSkipped},
	{"files stay short", "a noun that needs more is two nouns", filesStayShort},
}

func everyPackageHasItsRoom(h *house) (faults []string) {
	for _, p := range h.packages {
		if _, known := rooms[p.path]; !known {
			faults = append(faults, p.path+": is not in the table of rooms")
		}
	}
	return faults
}

func arrowsPointDown(h *house) (faults []string) {
	h.eachProductionFile(func(p *pkg, f *file) {
		ours, _ := f.imports()
		for _, target := range ours {
			if fault := arrowFault(p.path, target); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: imports %s: %s", f.name, target, fault))
			}
		}
	})
	return faults
}

// arrowFault says what is wrong with an import, or nothing. Packages that have
// no room yet are another rule's business.
func arrowFault(from, to string) string {
	source, known := rooms[from]
	target, alsoKnown := rooms[to]
	switch {
	case !known || !alsoKnown:
		return ""
	case source.alone != nil && !slices.Contains(source.alone, to):
		return "of ours it may import only " + fmt.Sprint(source.alone)
	case source.floor > target.floor:
		return ""
	case slices.ContainsFunc(arrows, func(a arrow) bool { return a.from == from && a.to == to }):
		return ""
	}
	return fmt.Sprintf("from floor %d to floor %d, and it is no named arrow", source.floor, target.floor)
}

func librariesHaveOwners(h *house) (faults []string) {
	h.eachProductionFile(func(p *pkg, f *file) {
		_, others := f.imports()
		for _, target := range others {
			for _, o := range owners {
				if within(target, o.module) && !slices.Contains(o.by, p.path) {
					faults = append(faults, fmt.Sprintf("%s: imports %s: %s", f.name, target, o.why))
				}
			}
		}
	})
	return faults
}

// within: the path is root or lies below it, as all major versions of a module do.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func onlyCommandsReadTheEnvironment(h *house) (faults []string) {
	h.eachProductionFile(func(p *pkg, f *file) {
		if strings.HasPrefix(p.path, "cmd/") || strings.HasPrefix(p.path, "scripts/") || readsEnvironment[p.path] != "" {
			return
		}
		if _, others := f.imports(); slices.Contains(others, "flag") {
			faults = append(faults, f.name+": imports flag")
		}
		for _, name := range []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Args"} {
			for _, n := range f.uses("os", name) {
				faults = append(faults, f.at(n)+": uses os."+name)
			}
		}
	})
	return faults
}

func testSupportStaysInTests(h *house) (faults []string) {
	h.eachProductionFile(func(p *pkg, f *file) {
		if rooms[p.path].onlyTests {
			return
		}
		ours, others := f.imports()
		for _, target := range ours {
			if rooms[target].onlyTests {
				faults = append(faults, f.name+": imports "+target)
			}
		}
		if slices.Contains(others, "testing") {
			faults = append(faults, f.name+": imports testing")
		}
	})
	return faults
}

func vendorStaysFlat(h *house) (faults []string) {
	for _, p := range h.packages {
		if strings.Contains("/"+p.path, "/vendor/") {
			faults = append(faults, p.path+": lies below a directory named vendor")
		}
	}
	return faults
}

func everyPackageSaysWhatItIsFor(h *house) (faults []string) {
	for _, p := range h.packages {
		documented := slices.ContainsFunc(p.files, func(f *file) bool { return f.ast.Doc != nil })
		if !documented {
			faults = append(faults, p.path+": has no package comment")
		}
	}
	return faults
}

func testsDoNotSleep(h *house) (faults []string) {
	h.eachTestFile(func(f *file) {
		for _, n := range f.uses("time", "Sleep") {
			faults = append(faults, f.at(n)+": sleeps")
		}
	})
	return faults
}

// testsAreNotSkipped also finds the quiet ways: testing.Short, and a build tag
// that keeps a file out of the ordinary run.
func testsAreNotSkipped(h *house) (faults []string) {
	h.eachTestFile(func(f *file) {
		for _, n := range f.skips() {
			faults = append(faults, f.at(n)+": skips")
		}
		for _, n := range f.uses("testing", "Short") {
			faults = append(faults, f.at(n)+": asks testing.Short")
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if f.isTest() && constraint.IsGoBuild(c.Text) {
					faults = append(faults, f.at(c)+": a build tag keeps it out of the ordinary run")
				}
			}
		}
	})
	return faults
}

func filesStayShort(h *house) (faults []string) {
	for name, lines := range h.lines {
		if lines > maxFileLines {
			faults = append(faults, fmt.Sprintf("%s: has %d lines, more than %d", name, lines, maxFileLines))
		}
	}
	slices.Sort(faults)
	return faults
}
