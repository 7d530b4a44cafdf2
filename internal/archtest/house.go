package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strings"
)

// module is the path of our own module; an import below it is one of ours.
const module = "payrollgateway"

// house is our own source, by package.
type house struct {
	packages []*pkg
	lines    map[string]int // of every source file, Go or not, that people write
}

// pkg is a directory with Go files; path is relative to the module's root.
type pkg struct {
	path  string
	files []*file
}

// load reads every source file below root that belongs to the module: what the
// go command would not look at (hidden and testdata directories, other modules)
// is left out, what lies behind a build tag is not.
func load(root fs.FS) (*house, error) {
	h := &house{lines: map[string]int{}}
	byPath := map[string]*pkg{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && isForeign(root, name) {
				return fs.SkipDir
			}
			return nil
		}
		return h.read(root, name, byPath)
	})
	for _, p := range byPath {
		h.packages = append(h.packages, p)
	}
	sort.Slice(h.packages, func(i, j int) bool { return h.packages[i].path < h.packages[j].path })
	return h, err
}

func isForeign(root fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func (h *house) read(root fs.FS, name string, byPath map[string]*pkg) error {
	switch path.Ext(name) {
	case ".go", ".sql", ".sh":
	default:
		return nil
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if path.Ext(name) != ".go" {
		h.lines[name] = strings.Count(string(text), "\n")
		return nil
	}
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(parsed) {
		h.lines[name] = strings.Count(string(text), "\n")
	}
	dir := path.Dir(name)
	if byPath[dir] == nil {
		byPath[dir] = &pkg{path: dir}
	}
	byPath[dir].files = append(byPath[dir].files, &file{name: name, ast: parsed, positions: positions})
	return nil
}

func (h *house) eachProductionFile(visit func(*pkg, *file)) {
	for _, p := range h.packages {
		for _, f := range p.files {
			if !f.isTest() {
				visit(p, f)
			}
		}
	}
}

// eachTestFile visits the tests and the code that only tests import.
func (h *house) eachTestFile(visit func(*file)) {
	for _, p := range h.packages {
		for _, f := range p.files {
			if f.isTest() || rooms[p.path].onlyTests {
				visit(f)
			}
		}
	}
}
