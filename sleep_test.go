package windlass_test

import (
	"go/ast"
	"testing"
)

// TestSleepsAreVirtual: a test that sleeps hopes that something is done by then. Packages that test with a virtual clock may sleep: there a
// sleep ends when nothing else can happen.
func TestSleepsAreVirtual(t *testing.T) {
	virtual := map[string]bool{}
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			virtual[f.dir] = virtual[f.dir] || imp.path == "testing/synctest"
		}
	}
	for _, f := range sources(t) {
		if virtual[f.dir] {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" && ident(sel.X) == "time" {
				t.Errorf("%s sleeps: wait for an event, a channel or a clock, or use testing/synctest", f.at(n.Pos()))
			}
			return true
		})
	}
}
