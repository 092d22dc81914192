package doctor

import (
	"maps"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

func TestDoctor(t *testing.T) {
	healthy := clitest.Answers{
		"GET /healthz": {Body: `{"status":"ok"}`},
		"GET /readyz":  {Body: `{"status":"ready","not_ready":[],"checks":{"temporal":"ok","sessions":"ok"}}`},
		"GET /v1/models?page_size=200": {Body: `{"models":[{"name":"openai/gpt","provider":"openai","default":true},{"name":"openai/b",` +
			`"provider":"openai"}],"next_page_token":""}`},
		"GET /v1/agents?page_size=100":  {Body: `{"agents":[{"id":"a"}],"next_page_token":""}`},
		"GET /v1/sources?page_size=200": {Body: `{"sources":[{"name":"notes","state":"ready","tool_count":2}],"next_page_token":""}`},
	}
	for _, tc := range []struct {
		name   string
		change clitest.Answers
		code   int
		want   []string
	}{
		{name: "all is well", want: []string{
			"ok       server", "ok       temporal", "ok       sessions",
			"openai/gpt answers where an agent names no model; there are 2 of openai", "ok       source notes         2 tools",
		}},
		{
			name: "Temporal is away", code: 1, want: []string{
				"broken   temporal             Temporal does not answer at t:1", "→ Turns wait.", "warning  workers              no worker runs",
			},
			change: clitest.Answers{"GET /readyz": {
				Status: 503,
				Body: `{"status":"not ready","not_ready":["temporal"],"degraded":["workers"],` +
					`"checks":{"temporal":"not ready","workers":"degraded","sessions":"ok"},"causes":{"temporal":{` +
					`"cause":"Temporal does not answer at t:1","action":"Turns wait."},"workers":{"cause":"no worker runs"}}}`,
			}},
		},
		{
			name: "only the scripted model", want: []string{"warning  models", "→ Set OPENAI_API_KEY"},
			change: clitest.Answers{"GET /v1/models?page_size=200": {Body: `{"models":[{"name":"builtin/scripted","provider":"builtin",` +
				`"default":true}]}`}},
		},
		{
			name: "no model", code: 1, want: []string{"broken   models"},
			change: clitest.Answers{"GET /v1/models?page_size=200": {Body: `{"models":[]}`}},
		},
		{
			name: "a tool server is away", code: 1, want: []string{
				"broken   source notes         unreachable: connection refused",
				"windlass source sync notes",
			},
			change: clitest.Answers{"GET /v1/sources?page_size=200": {Body: `{"sources":[{"name":"notes","state":"unreachable",` +
				`"last_error":"connection refused"}]}`}},
		},
		{
			name: "a tool server answers with a web page", code: 1, want: []string{
				"broken   source notes         invalid: it is a page", "The server answers: correct the source", "windlass source sync notes",
			},
			change: clitest.Answers{"GET /v1/sources?page_size=200": {Body: `{"sources":[{"name":"notes","state":"invalid",` +
				`"last_error":"it is a page"}]}`}},
		},
		{
			name: "a disabled source is fine", want: []string{"disabled"},
			change: clitest.Answers{"GET /v1/sources?page_size=200": {Body: `{"sources":[{"name":"notes","state":"pending","disabled":true}]}`}},
		},
		{
			name: "something else serves there", code: 1, want: []string{"broken   server", "answers /healthz with 404"},
			change: clitest.Answers{"GET /healthz": {Status: 404, Body: "hello"}},
		},
		{
			name: "memory is short", want: []string{"warning  memory               246MiB of a limit of 256MiB in use", "→ Set memory.limit"},
			change: clitest.Answers{"GET /metrics": {
				Body: "windlass_memory_used_bytes 2.57949696e+08\nwindlass_memory_limit_bytes 2.68435456e+08\n",
			}},
		},
		{
			name: "memory has no limit", want: []string{"ok       memory               64MiB in use, no limit"},
			change: clitest.Answers{"GET /metrics": {Body: "windlass_memory_used_bytes 6.7108864e+07\n"}},
		},
		{
			name: "a list is refused", code: 1, want: []string{"broken   sources              no", "→ Ask."},
			change: clitest.Answers{"GET /v1/sources?page_size=200": {Status: 403, Body: `{"code":"permission_denied","detail":"no","todo":"Ask."}`}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := clitest.New(t, root, clitest.Answers{})
			maps.Copy(f.Answers, healthy)
			maps.Copy(f.Answers, tc.change)
			r := f.Run("", "doctor", "--data-dir", t.TempDir())
			if r.Code != tc.code {
				t.Errorf("exit code %d, want %d", r.Code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.Out, want) {
					t.Errorf("%q is not in\n%s", want, r.Out)
				}
			}
		})
	}
}

func TestDoctorWithoutAServer(t *testing.T) {
	f := clitest.New(t, root, nil)
	dir := t.TempDir()
	r := f.Run("", "doctor", "--server", "127.0.0.1:1", "--data-dir", dir, "-o", "json")
	for _, want := range []string{
		`"check": "server"`, `"check": "data directory"`, `"check": "temporal program"`,
		`"check": "port 127.0.0.1:8080"`, "windlass up",
	} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("%q is not in\n%s", want, r.Out)
		}
	}
	if r.Code != 1 {
		t.Errorf("exit code %d", r.Code)
	}
	if r := f.Run("", "doctor", "--server", "http://192.0.2.1:1", "--help"); r.Code != 0 {
		t.Errorf("help = %d", r.Code)
	}
	held, err := datadir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Run("", "doctor", "--server", "127.0.0.1:1", "--data-dir", dir); !strings.Contains(r.Out, "a windlass is running on "+dir) {
		t.Errorf("%s", r.Out)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}
