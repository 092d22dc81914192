package windlass_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The size of a room: of the code of a package that is neither generated nor a test.
const (
	maxPackageLines = 4000
	maxIdentifiers  = 150 // constants, variables, types and functions of a package
	maxMethods      = 25  // that a type shows to other packages
	maxFunction     = 60  // lines
	maxColumns      = 140 // characters of a line, tests included; a raw string cannot be broken everywhere
	maxPrefix       = 4   // files of a package that begin with the same word and "_"
)

// larger lists the packages that may be larger than that in some way, and says why. A limit of 0 is the one of all.
var larger = map[string]struct {
	lines, identifiers, methods int
	why                         string
}{}

// size is how large a package is.
type size struct {
	lines, identifiers int
	methods            map[string]int // exported ones, by type
	prefixes           map[string]int // files, by what stands before the first "_"
}

func TestPackagesStaySmall(t *testing.T) {
	sizes := sizesOf(t)
	for _, dir := range slices.Sorted(maps.Keys(sizes)) {
		s := sizes[dir]
		atMost := func(what string, n, limit int) {
			if n > limit {
				t.Errorf("%s has %d %s, at most %d are allowed: split it by meaning", dir, n, what, limit)
			}
		}
		exception, listed := larger[dir]
		methods := 0
		for _, name := range slices.Sorted(maps.Keys(s.methods)) {
			n := s.methods[name]
			atMost("exported methods on "+name, n, max(maxMethods, exception.methods))
			methods = max(methods, n)
		}
		atMost("lines", s.lines, max(maxPackageLines, exception.lines))
		atMost("identifiers", s.identifiers, max(maxIdentifiers, exception.identifiers))
		needed := s.lines > maxPackageLines || s.identifiers > maxIdentifiers || methods > maxMethods
		if listed && (exception.why == "" || !needed) {
			t.Errorf("%s: larger lists what needs it, with a reason", dir)
		}
		for _, prefix := range slices.Sorted(maps.Keys(s.prefixes)) {
			atMost("files "+prefix+"_*.go", s.prefixes[prefix], maxPrefix-1)
		}
	}
}

func TestFunctionsStayShort(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				if n := f.at(fn.End()).Line - f.at(fn.Pos()).Line + 1; n > maxFunction {
					t.Errorf("%s: %s has %d lines, at most %d are allowed", f.at(fn.Pos()), fn.Name.Name, n, maxFunction)
				}
			}
		}
	}
}

func TestLinesStayShort(t *testing.T) {
	for _, f := range sources(t) {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		raw := map[int]bool{}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, "`") {
				for line := f.at(lit.Pos()).Line; line <= f.at(lit.End()).Line; line++ {
					raw[line] = true
				}
			}
			return true
		})
		path := f.at(f.syntax.Pos()).Filename
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if n := utf8.RuneCountInString(line) - 1; n > maxColumns && !raw[number] {
				t.Errorf("%s:%d has %d characters, at most %d are allowed", path, number, n, maxColumns)
			}
		}
	}
}

func sizesOf(t *testing.T) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	for _, f := range sources(t) {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		s, seen := sizes[f.dir]
		if !seen {
			s.methods, s.prefixes = map[string]int{}, map[string]int{}
		}
		s.lines += f.fset.File(f.syntax.Pos()).LineCount()
		name := f.at(f.syntax.Pos()).Filename
		name = name[strings.LastIndexByte(name, '/')+1:]
		if prefix, _, ok := strings.Cut(name, "_"); ok {
			s.prefixes[prefix]++
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				s.identifiers += names(d)
			case *ast.FuncDecl:
				if d.Recv == nil {
					s.identifiers++
				}
				if name := receiver(d); d.Name.IsExported() && name != "" {
					s.methods[name]++
				}
			}
		}
		sizes[f.dir] = s
	}
	return sizes
}

// names counts what a declaration names.
func names(d *ast.GenDecl) (n int) {
	for _, spec := range d.Specs {
		switch v := spec.(type) {
		case *ast.TypeSpec:
			n++
		case *ast.ValueSpec:
			for _, name := range v.Names {
				if name.Name != "_" {
					n++
				}
			}
		}
	}
	return n
}

// receiver names the type of a method, "" if there is none. A function that takes a type of its package as its first argument, after a
// context, is a method of it, unless it is a constructor of another.
func receiver(d *ast.FuncDecl) string {
	from := d.Recv
	if from == nil {
		from = d.Type.Params
		if strings.HasPrefix(d.Name.Name, "New") {
			return ""
		}
	}
	if d.Recv == nil && len(from.List) > 0 && isContext(from.List[0].Type) {
		from = &ast.FieldList{List: from.List[1:]}
	}
	if len(from.List) == 0 {
		return ""
	}
	typ := from.List[0].Type
	star, pointer := typ.(*ast.StarExpr)
	if pointer {
		typ = star.X
	}
	switch v := typ.(type) {
	case *ast.IndexExpr:
		typ = v.X
	case *ast.IndexListExpr:
		typ = v.X
	}
	name, ok := typ.(*ast.Ident)
	if !ok || d.Recv == nil && !pointer {
		return ""
	}
	return name.Name
}

func isContext(typ ast.Expr) bool {
	s, ok := typ.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Context"
}

// TestSizesAreCounted keeps the counting honest.
func TestSizesAreCounted(t *testing.T) {
	s := sizesOf(t)["libs/sqldb"]
	if s.identifiers < 20 || s.methods["DB"] == 0 {
		t.Errorf("libs/sqldb is counted as %+v", s)
	}
	lines := 0
	for _, name := range goFiles(t, false) {
		if strings.HasPrefix(name, "libs/sqldb/") && strings.Count(name, "/") == 2 && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
	}
	if s.lines != lines {
		t.Errorf("%d lines of libs/sqldb are counted as %d", lines, s.lines)
	}
	for code, want := range map[string]string{
		"func (*T) F() {}":                     "T",
		"func (T[V]) F() {}":                   "T",
		"func F(c *T, n int) {}":               "T",
		"func F(ctx context.Context, c *T) {}": "T",
		"func NewU(c *T) *U { return nil }":    "",
		"func F(ctx context.Context) {}":       "",
		"func F(c *other.T) {}":                "",
		"func F() {}":                          "",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\n"+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := receiver(f.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s is a method of %q, want %q", code, got, want)
		}
	}
	if n := names(&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{
		{Name: "a"},
		{Name: "_"},
		{Name: "b"},
	}}}}); n != 2 {
		t.Errorf("2 names are counted as %d", n)
	}
}
