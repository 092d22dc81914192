package windlass_test

import (
	"cmp"
	"go/ast"
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
	maxMethods      = 25  // of one type
	maxFunction     = 60  // lines
	maxColumns      = 140 // characters of a line, tests included; a raw string cannot be broken everywhere
	maxPrefix       = 4   // files of a package that begin with the same word and "_"
)

// larger lists the packages that may have more than maxPackageLines, and says why.
var larger = map[string]struct {
	lines int
	why   string
}{}

// size is how large a package is.
type size struct {
	lines, identifiers int
	methods            map[string]int // by type
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
		atMost("lines", s.lines, max(maxPackageLines, exception.lines))
		if listed && (exception.why == "" || s.lines <= maxPackageLines) {
			t.Errorf("%s has %d lines: larger lists what has more than %d, with a reason", dir, s.lines, maxPackageLines)
		}
		atMost("identifiers", s.identifiers, maxIdentifiers)
		for _, name := range slices.Sorted(maps.Keys(s.methods)) {
			atMost("methods on "+name, s.methods[name], maxMethods)
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
				} else {
					s.methods[receiver(d)]++
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

// receiver names the type of a method.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch v := typ.(type) {
	case *ast.IndexExpr:
		typ = v.X
	case *ast.IndexListExpr:
		typ = v.X
	}
	name, _ := typ.(*ast.Ident)
	return cmp.Or(name, &ast.Ident{Name: "?"}).Name
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
	if n := names(&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{
		{Name: "a"},
		{Name: "_"},
		{Name: "b"},
	}}}}); n != 2 {
		t.Errorf("2 names are counted as %d", n)
	}
}
