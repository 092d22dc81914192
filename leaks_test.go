package windlass_test

import (
	"go/ast"
	"testing"
)

// TestGoroutinesAreCheckedForLeaks: the tests of a package that starts goroutines fail when one is left behind.
func TestGoroutinesAreCheckedForLeaks(t *testing.T) {
	starts, tested, checked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		switch {
		case under(f.dir, "examples", "deploy"): // other modules
		case !f.test:
			starts[f.dir] = starts[f.dir] || startsGoroutine(f.syntax)
		default:
			tested[f.dir] = true
			for _, imp := range f.imports() {
				checked[f.dir] = checked[f.dir] || imp.path == "go.uber.org/goleak"
			}
		}
	}
	for dir := range starts {
		if starts[dir] && tested[dir] && !checked[dir] {
			t.Errorf("%s starts goroutines, and its tests do not look for those that are left: add a TestMain with goleak.VerifyTestMain", dir)
		}
	}
}

// startsGoroutine finds go statements, and calls of a Go method (WaitGroup, errgroup).
func startsGoroutine(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			found = found || n.Sel.Name == "Go" && (of == nil || of.Name != "workflow") // Temporal's are no goroutines of ours
		}
		return !found
	})
	return found
}
