package docs

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/test/harness"
)

// allowedNotest bounds the shell blocks that no test runs: those that start servers, need a key or another service, kill things, or build.
const allowedNotest = 37

func TestJSONBlocksParse(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.lang == "json" && !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d: no valid JSON", p.path, b.line)
			}
		}
	}
}

// A block named windlass.yaml is a configuration that windlassd takes.
func TestConfigurationsLoad(t *testing.T) {
	environ := []string{
		"HOUSE_MODEL_KEY=k", "OPENAI_API_KEY=k",
		"HOUSE_ANTHROPIC_KEY=k", "CORP_SECRET=k", "CONSOLE_SECRET=k", "METRICS_TOKEN=0123456789abcdef0123456789abcdef",
	}
	found := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.attr("title") != "windlass.yaml" {
				continue
			}
			found++
			file := filepath.Join(t.TempDir(), "windlass.yaml")
			write(t, file, b.text)
			if _, err := assembly.Load(assembly.Defaults(), config.Options{File: file, Environ: environ}); err != nil {
				t.Errorf("%s:%d: %v", p.path, b.line, err)
			}
		}
	}
	if found == 0 {
		t.Error("no page shows a configuration")
	}
}

func TestFewBlocksAreNotRun(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.has("notest") {
				n++
			}
		}
	}
	if n > allowedNotest {
		t.Errorf("%d blocks are marked notest, more than %d", n, allowedNotest)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

func TestLinksLeadSomewhere(t *testing.T) {
	all := map[string]page{}
	for _, p := range pages(t) {
		all[p.path] = p
	}
	linked := map[string]bool{}
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(p.text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %q is no link: %v", p.path, m[1], err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			target := p.path
			if u.Path != "" {
				target = path.Join(path.Dir(p.path), u.Path)
			}
			linked[target] = linked[target] || target != p.path
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: %s does not exist", p.path, m[1])
			} else if u.Fragment != "" && !slices.Contains(anchors(all[target].text), u.Fragment) {
				t.Errorf("%s: %s has no heading for %s", p.path, target, m[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "README.md" && !linked[name] {
			t.Errorf("no page links to %s", name)
		}
	}
}

var calledTool = regexp.MustCompile(`call:((?:mesh|calculator|notes)__[a-z_]+)`)

// TestCalledToolsExist: what pages have the scripted model call is a tool of a new data directory.
func TestCalledToolsExist(t *testing.T) {
	up := harness.Up(t, t.TempDir(), nil)
	there := map[string]bool{}
	list, _ := up.Client.Must("GET", "/v1/tools?page_size=1000", nil)["tools"].([]any)
	for _, one := range list {
		tool, _ := one.(map[string]any)
		there[harness.JSON(tool).Str("name")] = true
	}
	for _, p := range pages(t) {
		for _, m := range calledTool.FindAllStringSubmatch(p.text, -1) {
			if !there[m[1]] {
				t.Errorf("%s calls %s, which does not exist", p.path, m[1])
			}
		}
	}
}

// anchors returns the ids of a page's headings, as GitHub makes them.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		var id strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				id.WriteRune('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				id.WriteRune(r)
			}
		}
		out = append(out, id.String())
	}
	return out
}

var makeTarget = regexp.MustCompile("(?m)(?:^ *|`)(?:[A-Z_]+=\\S* )*make ([a-z][a-z-]*)")

func TestMakeTargetsExist(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(p.text, -1) {
			if !strings.Contains(string(raw), "\n"+m[1]+":") {
				t.Errorf("%s: make has no target %s", p.path, m[1])
			}
		}
	}
}
