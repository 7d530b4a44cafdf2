package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// file is one Go file; name is relative to the module's root.
type file struct {
	name      string
	ast       *ast.File
	positions *token.FileSet
}

func (f *file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// at names a place the way editors understand it.
func (f *file) at(n ast.Node) string {
	return f.name + ":" + strconv.Itoa(f.positions.Position(n.Pos()).Line)
}

// imports lists what the file imports: our own packages by their path from the
// module's root, all others as they are written.
func (f *file) imports() (ours, others []string) {
	for _, spec := range f.ast.Imports {
		target, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		if rest, isOurs := strings.CutPrefix(target, module+"/"); isOurs {
			ours = append(ours, rest)
		} else {
			others = append(others, target)
		}
	}
	return ours, others
}

// uses finds where the file mentions a name of the package with that import path.
func (f *file) uses(importPath, name string) (places []ast.Node) {
	local := f.localName(importPath)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if selected, isSelector := n.(*ast.SelectorExpr); isSelector && selected.Sel.Name == name && isNamed(selected.X, local) {
			places = append(places, n)
		}
		return true
	})
	return places
}

// localName is what the file calls an imported package, or "" if it does not
// import it. It holds for packages named like the end of their path.
func (f *file) localName(importPath string) string {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value != `"`+importPath+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndex(importPath, "/")+1:]
	}
	return ""
}

func isNamed(e ast.Expr, name string) bool {
	id, isIdent := e.(*ast.Ident)
	return isIdent && name != "" && id.Name == name
}

// skips finds calls of Skip, Skipf and SkipNow on a parameter whose type comes
// from package testing; other types may have methods of these names.
func (f *file) skips() (places []ast.Node) {
	handles := f.testHandles()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		selected, isSelector := n.(*ast.SelectorExpr)
		if !isSelector || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selected.Sel.Name) {
			return true
		}
		if id, isIdent := selected.X.(*ast.Ident); isIdent && handles[id.Name] {
			places = append(places, n)
		}
		return true
	})
	return places
}

// testHandles are the names of parameters of type *testing.T, testing.TB and so on.
func (f *file) testHandles() map[string]bool {
	handles := map[string]bool{}
	testing := f.localName("testing")
	ast.Inspect(f.ast, func(n ast.Node) bool {
		field, isField := n.(*ast.Field)
		if !isField {
			return true
		}
		kind := field.Type
		if pointer, isPointer := kind.(*ast.StarExpr); isPointer {
			kind = pointer.X
		}
		if selected, isSelector := kind.(*ast.SelectorExpr); isSelector && isNamed(selected.X, testing) {
			for _, id := range field.Names {
				handles[id.Name] = true
			}
		}
		return true
	})
	return handles
}
