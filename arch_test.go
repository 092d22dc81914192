// Package windlass_test holds the rules that the whole repository keeps: who may import whom, who may open
// connections, how long a file may grow. docs and reasons: the layout in the README and the habits in docs/.
package windlass_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "github.com/windlass-dev/windlass"
	maxLines = 450
)

// layers says which of our own folders a folder may import besides itself. The longest prefix decides. A folder that
// is not listed (bench, deploy, a future one) may import what it likes, and nobody may import it.
var layers = map[string][]string{
	"proto/gen": {},
	"libs":      {"proto/gen"},
	"docs":      {},
	"services":  {"libs", "proto/gen", "workflows/contract"}, // and never another service, see mayImport
	"workflows": {"libs", "proto/gen"},
	"gateway":   {"docs", "libs", "proto/gen"},
	"internal":  {"gateway", "workflows", "services", "libs", "docs", "proto/gen"},
	"cmd":       {"internal", "gateway", "workflows", "services", "libs", "proto/gen"},
}

// homes says in which of our folders a module of others may be imported by code that is not a test.
// examples are a leaf of their own and may use what a tool server needs.
var homes = map[string][]string{
	"github.com/mark3labs/mcp-go":            {"services/mcpbridge", "gateway/mcp", "examples"},
	"github.com/jackc/pgx":                   {"libs/sqldb"},
	"modernc.org/sqlite":                     {"libs/sqldb", "examples"},
	"github.com/pressly/goose":               {"libs/sqldb"},
	"github.com/openai/openai-go":            {"services/inference/provider"},
	"github.com/anthropics/anthropic-sdk-go": {"services/inference/provider"},
	"github.com/aws":                         {"services/inference/provider"},
	"go.temporal.io":                         {"services/sessions/dispatch", "services/knowledge/dispatch", "services/registry/workflow", "workflows"},
	"github.com/nats-io":                     {"libs/bus"},
	"github.com/zitadel":                     {"internal/issuer"},
	"github.com/tink-crypto/tink-go":         {"libs/keyset"},
	"code.dny.dev/ssrf":                      {"libs/egress"},
	// It rounds the numbers of google.protobuf.Value: libs/canon does not. The others write messages without such values, or with canon.
	"google.golang.org/protobuf/encoding/protojson": {
		"libs/canon", "libs/eventlog", "libs/protoyaml", "gateway/codec", "gateway/gen", "gateway/mcp/orchestrator", "services/sessions/bundle",
		"services/sessions/api", "services/registry/grpcapi", "services/registry/grpccall", "workflows/turn/executor", "workflows/temporal",
		"bench", "examples",
	},
	// Images from outside are decoded in libs/media only, in a child process, since they may unfold to anything; elsewhere only their header is.
	"image": {"libs/media", "services/sessions/file", "examples"}, "golang.org/x/image": {"libs/media", "services/sessions/file", "examples"},
	"github.com/ledongthuc/pdf":          {"libs/pdftext"},
	"codeberg.org/go-pdf/fpdf":           {"services/sessions/pdf"},
	"github.com/yuin/goldmark":           {"services/knowledge/parse/markdown", "gateway/site"},
	"github.com/gabriel-vasile/mimetype": {"services/sessions/file"},
}

// rooms says in which folders of a tree one of our packages may be imported by code that is not a test: the messages of an API
// where it is served, those that are stored where the tables are. "." is the tree itself, without what is below.
var rooms = []struct {
	tree, imports string
	dirs          []string
}{
	{"services/sessions", "proto/gen/windlass/sessions/v1", []string{".", "api", "bundle", "transcript"}},
	{"services/sessions", "proto/gen/windlass/execution/v1", []string{".", "api"}},
	{"services/mcpbridge", "proto/gen/windlass/mcpbridge/v1", []string{"api", "server", "result", "redact", "watch"}},
	{"services/inference", "proto/gen/windlass/inference/v1", []string{"api", "provider"}},
	{"", "proto/gen/windlass/sessions/store", []string{"services/sessions/store", "services/sessions/agentspec"}},
	// The libraries that know the domain; libs/README.md has the reasons.
	{"libs", "proto/gen/windlass/policy", []string{"authn", "authz", "callertoken", "providerdata", "quota", "rpc", "usertoken", "vault"}},
	{"libs", "proto/gen/windlass/registry", []string{"eventlog"}},
	{"libs", "proto/gen/windlass/turn", []string{"tokens", "toolresult"}},
	{"libs", "proto/gen/windlass/sessions", nil},
	{"libs", "proto/gen/windlass/execution", nil},
	{"libs", "proto/gen/windlass/executor", nil},
	{"libs", "proto/gen/windlass/inference", nil},
	{"libs", "proto/gen/windlass/mcpbridge", nil},
}

// cliRoot is the command line.
const cliRoot = "internal/cli"

// cliBase are the folders of the command line that commands are made from. Every other folder there is a command (a noun such as agent, or a
// verb such as chat): commands import neither each other nor the root, which lists them.
var cliBase = []string{
	"app", "client", "command", "follow", "health", "hint", "lineedit", "login", "output", "project", "question", "show", "state", "usage",
}

// dialers are names that open a connection past libs/egress (outside) or libs/rpc (between our services).
var dialers = map[string][]string{
	"net":                    {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "Dialer"},
	"crypto/tls":             {"Dial", "DialWithDialer", "Dialer"},
	"net/http":               {"DefaultClient", "DefaultTransport", "Transport", "Get", "Head", "Post", "PostForm"},
	"google.golang.org/grpc": {"NewClient", "Dial", "DialContext"},
}

// dialerHomes may use dialers: the two doors themselves, a connection of a process to itself, and code that no server runs.
var dialerHomes = []string{"libs/egress", "libs/rpc", "libs/peercred", "examples", "bench", "deploy"}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			if err := mayImport(f, imp.path); err != nil {
				t.Errorf("%s: %v", f.at(imp.pos), err)
			}
		}
	}
}

func TestConnectionsAreOpenedInOnePlace(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || under(f.dir, dialerHomes...) || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, use := range dialerUses(f.syntax) {
			t.Errorf("%s: %s opens connections past libs/egress and libs/rpc; take a client from one of them", f.at(use.pos), use.path)
		}
	}
}

// TestNumbersAreNotRounded: AsMap has the numbers of a google.protobuf.Struct as doubles, canon.FromStruct as they are written.
func TestNumbersAreNotRounded(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || ast.IsGenerated(f.syntax) || under(f.dir, "examples", "bench") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "AsMap" {
				t.Errorf("%s: AsMap rounds numbers; take canon.FromStruct", f.at(s.Pos()))
			}
			return true
		})
	}
}

// TestMetricsAreInTheTable: an instrument that is made elsewhere would be missing in the reference, and unbounded.
func TestMetricsAreInTheTable(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || ast.IsGenerated(f.syntax) || under(f.dir, "libs/metrics", "examples", "bench") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && (instrument.MatchString(s.Sel.Name) ||
				ident(s.X) == "prometheus" && strings.HasPrefix(s.Sel.Name, "New") && s.Sel.Name != "NewRegistry") {
				t.Errorf("%s: %s makes an instrument; add a row to libs/metrics, which makes it", f.at(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
}

// instrument are the methods of OpenTelemetry that make instruments.
var instrument = regexp.MustCompile(`^(Int64|Float64)(Observable)?(Counter|UpDownCounter|Gauge|Histogram)$`)

func TestFilesStayShort(t *testing.T) {
	for _, name := range goFiles(t, true) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(text), "\n")
		if n <= maxLines || strings.HasSuffix(name, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(syntax) {
			t.Errorf("%s has %d lines, more than %d: give its parts files named after their nouns", name, n, maxLines)
		}
	}
}

// TestLibrariesAreListed checks that libs/README.md, the map of the libraries, has a row for each folder and no other row.
func TestLibrariesAreListed(t *testing.T) {
	text, err := os.ReadFile("libs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, folders []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
	}
	entries, err := os.ReadDir("libs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, e.Name())
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, folders) {
		t.Errorf("libs/README.md lists\n%q\nlibs has\n%q", listed, folders)
	}
}

// TestRulesBite keeps the rules honest: each row is an import that someone will try.
func TestRulesBite(t *testing.T) {
	const own = module + "/"
	for _, row := range []struct {
		name, dir, imports string
		test, refused      bool
	}{
		{name: "a service uses a library", dir: "services/policy", imports: own + "libs/fault"},
		{name: "a service uses generated code", dir: "services/policy", imports: own + "proto/gen/windlass/policy/v1"},
		{name: "a service uses its own store", dir: "services/policy", imports: own + "services/policy/store"},
		{name: "a service knows the workflow contract", dir: "services/sessions/dispatch", imports: own + "workflows/contract"},
		{name: "a service reaches into a workflow", dir: "services/sessions", imports: own + "workflows/turn", refused: true},
		{name: "a service imports another", dir: "services/registry", imports: own + "services/policy", refused: true},
		{name: "a test of a service imports another", dir: "services/registry", imports: own + "services/policy", test: true, refused: true},
		{name: "a service with a longer name is another", dir: "services/policy", imports: own + "services/policy2", refused: true},
		{name: "a library imports a service", dir: "libs/rpc", imports: own + "services/policy", refused: true},
		{name: "generated code imports a library", dir: "proto/gen/windlass/policy/v1", imports: own + "libs/fault", refused: true},
		{name: "the gateway imports a service", dir: "gateway/rest", imports: own + "services/sessions", refused: true},
		{name: "the gateway imports its generated code", dir: "gateway/rest", imports: own + "gateway/gen/windlass/policy/v1"},
		{name: "a workflow imports the gateway", dir: "workflows/turn", imports: own + "gateway", refused: true},
		{name: "a service imports the wiring", dir: "services/policy", imports: own + "internal/assembly", refused: true},
		{name: "a test starts the whole assembly", dir: "gateway/sse", imports: own + "internal/assembly", test: true},
		{name: "the wiring imports everything", dir: "internal/assembly", imports: own + "services/policy"},
		{name: "a command imports the wiring", dir: "cmd/windlass", imports: own + "internal/assembly"},
		{name: "the wiring imports a command", dir: "internal/assembly", imports: own + "cmd/windlass", refused: true},
		{name: "examples are a leaf", dir: "cmd/windlass", imports: own + "examples/notes", refused: true},
		{name: "examples import themselves", dir: "examples/notes", imports: own + "examples/internal/mcpserver"},
		{name: "examples do not reach into services", dir: "examples/notes", imports: own + "services/registry", refused: true},
		{name: "benchmarks import anything", dir: "bench", imports: own + "internal/assembly"},
		{name: "nobody imports benchmarks", dir: "cmd/windlass", imports: own + "bench", refused: true},
		{name: "production code imports a test helper", dir: "services/policy", imports: own + "libs/testpg", refused: true},
		{name: "a test imports a test helper", dir: "services/policy", imports: own + "libs/testpg", test: true},
		{name: "a store suite imports testing", dir: "services/policy/store/storetest", imports: "testing"},
		{name: "production code imports testing", dir: "services/policy", imports: "testing", refused: true},
		{name: "MCP in the bridge", dir: "services/mcpbridge/client", imports: "github.com/mark3labs/mcp-go/client"},
		{name: "MCP where it is served", dir: "gateway/mcp", imports: "github.com/mark3labs/mcp-go/mcp"},
		{name: "MCP elsewhere in the gateway", dir: "gateway/rest", imports: "github.com/mark3labs/mcp-go/server", refused: true},
		{name: "MCP client in a test", dir: "gateway/rest", imports: "github.com/mark3labs/mcp-go/client", test: true},
		{name: "pgx in the library", dir: "libs/sqldb", imports: "github.com/jackc/pgx/v5/stdlib"},
		{name: "pgx in a test helper", dir: "libs/testpg", imports: "github.com/jackc/pgx/v5"},
		{name: "pgx in a store", dir: "services/policy/store", imports: "github.com/jackc/pgx/v5/pgconn", refused: true},
		{name: "SQLite in a store", dir: "services/policy/store", imports: "modernc.org/sqlite", refused: true},
		{name: "an SDK in a provider", dir: "services/inference/provider/openai", imports: "github.com/openai/openai-go/v3"},
		{name: "an SDK beside the providers", dir: "services/inference/catalog", imports: "github.com/openai/openai-go/v3", refused: true},
		{name: "Temporal in dispatch", dir: "services/sessions/dispatch", imports: "go.temporal.io/sdk/client"},
		{name: "Temporal in the source of workflows", dir: "services/registry/workflow", imports: "go.temporal.io/api/common/v1"},
		{name: "Temporal elsewhere in the registry", dir: "services/registry/upstream", imports: "go.temporal.io/api/common/v1", refused: true},
		{name: "Temporal in sessions", dir: "services/sessions", imports: "go.temporal.io/sdk/client", refused: true},
		{name: "Temporal in the wiring", dir: "internal/assembly", imports: "go.temporal.io/sdk/worker", refused: true},
		{name: "NATS in the bus", dir: "libs/bus", imports: "github.com/nats-io/nats.go/jetstream"},
		{name: "NATS in a service", dir: "services/sessions", imports: "github.com/nats-io/nats.go", refused: true},
		{name: "the system tests' harness imports testing", dir: "test/harness", imports: "testing"},
		{name: "production code imports the harness", dir: "cmd/windlass", imports: own + "test/harness", refused: true},
		{name: "API messages where they are served", dir: "services/sessions/api", imports: own + "proto/gen/windlass/sessions/v1"},
		{name: "API messages in the domain", dir: "services/sessions/schedule", imports: own + "proto/gen/windlass/sessions/v1", refused: true},
		{name: "API messages on the wire", dir: "services/mcpbridge/wire", imports: own + "proto/gen/windlass/mcpbridge/v1", refused: true},
		{name: "API messages in a model call", dir: "services/inference/modelcall", imports: own + "proto/gen/windlass/inference/v1", refused: true},
		{name: "API messages elsewhere", dir: "workflows/turn", imports: own + "proto/gen/windlass/sessions/v1"},
		{name: "stored messages in the store", dir: "services/sessions/store", imports: own + "proto/gen/windlass/sessions/store/v1"},
		{name: "stored messages beside it", dir: "services/sessions", imports: own + "proto/gen/windlass/sessions/store/v1", refused: true},
		{name: "a library that knows the domain", dir: "libs/quota", imports: own + "proto/gen/windlass/policy/v1"},
		{name: "a library that does not", dir: "libs/egress", imports: own + "proto/gen/windlass/policy/v1", refused: true},
		{name: "a library knows turns", dir: "libs/rpc", imports: own + "proto/gen/windlass/execution/v1", refused: true},
		{name: "a command of the command line uses the base", dir: "internal/cli/agent", imports: own + "internal/cli/command"},
		{name: "the command line lists its commands", dir: "internal/cli", imports: own + "internal/cli/agent"},
		{name: "a command imports another", dir: "internal/cli/chat", imports: own + "internal/cli/session", refused: true},
		{name: "a command imports the root", dir: "internal/cli/agent", imports: own + "internal/cli", refused: true},
		{name: "the base imports a command", dir: "internal/cli/command", imports: own + "internal/cli/agent", refused: true},
		{name: "a test of the base uses a command", dir: "internal/cli/command", imports: own + "internal/cli/agent", test: true},
		{name: "a program uses a command", dir: "cmd/windlass", imports: own + "internal/cli/serve"},
		{name: "an image is decoded", dir: "services/registry", imports: "image/png", refused: true},
		{name: "the standard library", dir: "services/sessions", imports: "net/http"},
	} {
		err := mayImport(file{dir: row.dir, test: row.test || isTestHelper(row.dir)}, row.imports)
		if (err != nil) != row.refused {
			t.Errorf("%s: %s imports %s: got %v, want refused=%t", row.name, row.dir, row.imports, err, row.refused)
		}
	}

	const code = `package p
import ("net"; "net/http"; h "net/http"; "google.golang.org/grpc")
var _, _ = net.Dial("tcp", "")
var _ = http.DefaultClient
var _ = h.Client{}
var _ = &http.Client{Timeout: 1}
var _ = &http.Transport{}
var _, _ = grpc.NewClient("x")
var _ = &http.Client{Transport: safe}
var _ net.Conn; var _ http.Handler; var _ *grpc.ClientConn; var _ = other.DefaultClient; var _ *http.Client
`
	syntax, err := parser.ParseFile(token.NewFileSet(), "p.go", code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if uses := dialerUses(syntax); len(uses) != 6 {
		t.Errorf("found %d dialers in the sample, want 6: %v", len(uses), uses)
	}
}

// inRoom reports whether a folder of a tree is one of some.
func inRoom(dir, tree string, rooms []string) bool {
	for _, room := range rooms {
		if room == "." && dir == tree || room != "." && under(dir, path.Join(tree, room)) {
			return true
		}
	}
	return false
}

// mayImport returns why f may not import the package target, or nil.
func mayImport(f file, target string) error {
	rel, ours := strings.CutPrefix(target, module+"/")
	if !ours {
		if target == "testing" && !f.test {
			return fmt.Errorf("only tests and test helpers import testing")
		}
		for other, dirs := range homes {
			if within(target, other) && !f.test && !under(f.dir, dirs...) {
				return fmt.Errorf("%s belongs in %s only", other, strings.Join(dirs, ", "))
			}
		}
		return nil
	}
	if isTestHelper(rel) && !f.test {
		return fmt.Errorf("%s is for tests", rel)
	}
	for _, room := range rooms {
		if within(rel, room.imports) && !f.test && (room.tree == "" || under(f.dir, room.tree)) && !inRoom(f.dir, room.tree, room.dirs) {
			return fmt.Errorf("of %s, %s is for %s only", cmp.Or(room.tree, "the repository"), rel, cmp.Or(strings.Join(room.dirs, ", "), "tests"))
		}
	}
	if !f.test && f.dir != cliRoot && within(f.dir, cliRoot) && within(rel, cliRoot) && !within(rel, f.dir) && !inRoom(rel, cliRoot, cliBase) {
		return fmt.Errorf("%s is for %s only: move what other commands need of it to the base of the command line", rel, cliRoot)
	}
	if a, b := service(f.dir), service(rel); a != "" && b != "" && a != b {
		return fmt.Errorf("%s may not import %s: call its generated client", a, b)
	}
	if f.test && under(rel, "internal/assembly") {
		return nil // a test may start the system it talks to
	}
	from, to := layer(f.dir), layer(rel)
	switch {
	case top(f.dir) == top(rel):
		return nil
	case from == "examples" && to != "libs" && to != "proto/gen":
		return fmt.Errorf("examples are outsiders: they use our API, not %s", rel)
	case to == "":
		return fmt.Errorf("%s is a leaf, nobody imports it", top(rel))
	case from == "" || from == "examples" || under(rel, layers[from]...):
		return nil
	}
	return fmt.Errorf("%s may import only %v", from, layers[from])
}

// dialerUses finds uses of dialers, and http.Client literals that fall back to the default transport.
func dialerUses(syntax *ast.File) []use {
	names := map[string]string{} // from the local name of a package to its path
	for _, spec := range syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || dialers[p] == nil {
			continue
		}
		if spec.Name != nil {
			names[spec.Name.Name] = p
		} else {
			names[path.Base(p)] = p
		}
	}
	var found []use
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if sel, ok := n.Type.(*ast.SelectorExpr); ok && names[ident(sel.X)] == "net/http" && sel.Sel.Name == "Client" &&
				!hasKey(n, "Transport") {
				found = append(found, use{sel.Pos(), "http.Client without Transport"})
			}
		case *ast.SelectorExpr:
			for _, name := range dialers[names[ident(n.X)]] {
				if n.Sel.Name == name {
					found = append(found, use{n.Pos(), ident(n.X) + "." + name})
				}
			}
		}
		return true
	})
	return found
}

// file is one parsed Go file of the workspace.
type file struct {
	dir    string // relative to the top, with slashes
	test   bool   // a test, or a package that exists for tests
	syntax *ast.File
	fset   *token.FileSet
}

// use is a place in a file that names something a rule speaks of.
type use struct {
	pos  token.Pos
	path string
}

func (f file) at(pos token.Pos) token.Position { return f.fset.Position(pos) }

func (f file) imports() []use {
	var all []use
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, use{spec.Pos(), p})
		}
	}
	return all
}

// parsed is what sources returns, after its first call. The tests of this package do not run in parallel.
var parsed []file

// sources parses every Go file of the workspace once, without asking the go command: seconds matter here.
func sources(t *testing.T) []file {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	fset := token.NewFileSet()
	var all []file
	for _, name := range goFiles(t, false) {
		syntax, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if dir == "." {
			continue // this file
		}
		all = append(all, file{dir, strings.HasSuffix(name, "_test.go") || isTestHelper(dir), syntax, fset})
	}
	parsed = all
	return all
}

// goFiles lists Go files below the top. Modules outside go.work (tools, deploy/temporal) are listed only on request.
func goFiles(t *testing.T, allModules bool) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			if strings.HasSuffix(name, ".go") {
				names = append(names, name)
			}
			return nil
		case name == ".":
			return nil
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules":
			return filepath.SkipDir
		case name == "bin" || name == "tmp" || name == "third_party":
			return filepath.SkipDir
		}
		_, err = os.Stat(filepath.Join(name, "go.mod"))
		if err == nil && name != "examples" && !allModules {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// layer returns the entry of layers that dir is in, "examples", or "" for a folder without rules.
func layer(dir string) string {
	if top(dir) == "examples" {
		return "examples"
	}
	longest := ""
	for prefix := range layers {
		if within(dir, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	return longest
}

// isTestHelper reports whether a package is there for tests: storetest, testpg, and all of the test folder.
func isTestHelper(dir string) bool {
	base := path.Base(dir)
	return top(dir) == "test" || strings.HasPrefix(base, "test") || strings.HasSuffix(base, "test")
}

func service(dir string) string {
	if parts := strings.Split(dir, "/"); len(parts) > 1 && parts[0] == "services" {
		return "services/" + parts[1]
	}
	return ""
}

func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

func within(p, prefix string) bool { return p == prefix || strings.HasPrefix(p, prefix+"/") }

func under(dir string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if within(dir, prefix) {
			return true
		}
	}
	return false
}

func ident(x ast.Expr) string {
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func hasKey(lit *ast.CompositeLit, name string) bool {
	for _, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok && ident(kv.Key) == name {
			return true
		}
	}
	return false
}
