package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// corpusNames are the corpora: comments of Go's standard library at the version of Go that go.mod names, the schemas of Kubernetes'
// OpenAPI documents in the pinned k8s.io/client-go, and the first decisions of docs/adr, which do not change once they are accepted.
var corpusNames = []string{"go", "k8s", "adr"}

// corpus is a set of documents that are searched together.
type corpus struct {
	name      string
	documents []document
}

// document is a Markdown document and what the service reads of it.
type document struct {
	name, markdown string
	parsed         parse.Document
}

func readCorpora() ([]corpus, error) {
	var corpora []corpus
	for i, read := range []func() ([]document, error){readGo, readKubernetes, readDecisions} {
		documents, err := read()
		if err != nil {
			return nil, fmt.Errorf("corpus %s: %w", corpusNames[i], err)
		}
		for j, d := range documents {
			in := parse.Input{Name: d.name + ".md", MediaType: "text/markdown", Data: []byte(d.markdown)}
			if documents[j].parsed, err = parse.Read(in); err != nil {
				return nil, fmt.Errorf("corpus %s: %s: %w", corpusNames[i], d.name, err)
			}
		}
		corpora = append(corpora, corpus{corpusNames[i], documents})
	}
	return corpora, nil
}

// packages are those whose comments are searched.
const packages = `
	archive/tar archive/zip bufio bytes compress/flate compress/gzip container/heap container/list context crypto/aes crypto/cipher
	crypto/ecdsa crypto/hmac crypto/rand crypto/rsa crypto/sha256 crypto/subtle crypto/tls crypto/x509 database/sql embed encoding
	encoding/base64 encoding/binary encoding/csv encoding/gob encoding/hex encoding/json encoding/xml errors expvar flag fmt go/ast
	go/doc go/parser hash/crc32 hash/fnv html html/template image image/png io io/fs iter log log/slog maps math math/big math/bits
	math/rand/v2 mime mime/multipart net net/http net/http/httptest net/http/httputil net/mail net/netip net/smtp net/textproto
	net/url os os/exec os/signal os/user path path/filepath reflect regexp runtime runtime/debug runtime/pprof slices sort strconv
	strings sync sync/atomic testing testing/fstest testing/iotest testing/synctest text/scanner text/tabwriter text/template time
	unicode unicode/utf16 unicode/utf8 unique`

// readGo returns a document for each package: its comment, and each exported declaration with its own.
func readGo() ([]document, error) {
	raw, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // It ends at once.
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	where := build.Default
	where.GOOS, where.GOARCH, where.CgoEnabled, where.GOROOT = "linux", "amd64", false, strings.TrimSpace(string(raw))
	var documents []document
	for name := range strings.FieldsSeq(packages) {
		p, err := where.ImportDir(filepath.Join(where.GOROOT, "src", filepath.FromSlash(name)), 0)
		if err != nil {
			return nil, fmt.Errorf("read package: %w", err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("read package: %w", err)
			}
			files = append(files, file)
		}
		comments, err := doc.NewFromFiles(fset, files, name)
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		w := &goWriter{p: comments, fset: fset}
		w.pkg()
		documents = append(documents, document{name: name, markdown: w.out.String()})
	}
	return documents, nil
}

// goWriter writes comments as Markdown.
type goWriter struct {
	p    *doc.Package
	fset *token.FileSet
	out  bytes.Buffer
}

func (w *goWriter) pkg() {
	fmt.Fprintf(&w.out, "# package %s\n\n", w.p.ImportPath)
	w.comment(w.p.Doc)
	for _, v := range slices.Concat(w.p.Consts, w.p.Vars) {
		w.decl("", v.Decl, v.Doc)
	}
	for _, f := range w.p.Funcs {
		w.decl("func "+f.Name, f.Decl, f.Doc)
	}
	for _, t := range w.p.Types {
		w.decl("type "+t.Name, t.Decl, t.Doc)
		for _, v := range slices.Concat(t.Consts, t.Vars) {
			w.decl("", v.Decl, v.Doc)
		}
		for _, f := range t.Funcs {
			w.decl("func "+f.Name, f.Decl, f.Doc)
		}
		for _, f := range t.Methods {
			w.decl("func ("+t.Name+") "+f.Name, f.Decl, f.Doc)
		}
	}
}

// decl writes a declaration under a heading; without one it belongs to what is before it.
func (w *goWriter) decl(heading string, decl ast.Decl, text string) {
	if heading != "" {
		fmt.Fprintf(&w.out, "## %s\n\n", heading)
	}
	var source bytes.Buffer
	if err := format.Node(&source, w.fset, decl); err == nil {
		fmt.Fprintf(&w.out, "```go\n%s\n```\n\n", source.Bytes())
	}
	w.comment(text)
}

func (w *goWriter) comment(text string) {
	printer := w.p.Printer()
	printer.HeadingLevel = 3
	w.out.Write(printer.Markdown(w.p.Parser().Parse(text)))
	w.out.WriteString("\n")
}

// readKubernetes returns a document for each schema, with a heading for each property.
func readKubernetes() ([]document, error) {
	raw, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output() //nolint:noctx // It ends at once.
	if err != nil {
		return nil, fmt.Errorf("find client-go: %w", err)
	}
	type schema struct {
		Description string
		Properties  map[string]struct{ Description string }
	}
	schemas := map[string]schema{}
	for _, name := range []string{"api__v1", "apis__apps__v1", "apis__batch__v1"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(raw)), "openapi/openapitest/testdata", name+"_openapi.json"))
		if err != nil {
			return nil, fmt.Errorf("read schemas: %w", err)
		}
		var file struct {
			Components struct{ Schemas map[string]schema }
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("read schemas: %w", err)
		}
		maps.Copy(schemas, file.Components.Schemas)
	}
	var documents []document
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n%s\n\n", name[strings.LastIndexByte(name, '.')+1:], schemas[name].Description)
		for _, property := range slices.Sorted(maps.Keys(schemas[name].Properties)) {
			fmt.Fprintf(&b, "## %s\n\n%s\n\n", property, schemas[name].Properties[property].Description)
		}
		documents = append(documents, document{name: name, markdown: b.String()})
	}
	return documents, nil
}

// module is this repository.
const module = "github.com/windlass-dev/windlass"

// lastDecision is the last one that is searched: later ones would change the figures.
const lastDecision = "0098"

func readDecisions() ([]document, error) {
	raw, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output() //nolint:noctx // It ends at once.
	if err != nil {
		return nil, fmt.Errorf("find this repository: %w", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(raw)), "docs/adr/[0-9]*.md"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("find decisions: %d, %w", len(names), err)
	}
	var documents []document
	for _, name := range names {
		if filepath.Base(name)[:len(lastDecision)] > lastDecision {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read decision: %w", err)
		}
		documents = append(documents, document{name: filepath.Base(name), markdown: string(text)})
	}
	return documents, nil
}
