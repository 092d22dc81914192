package cli

import (
	"maps"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/datadir"
)

func TestDoctor(t *testing.T) {
	healthy := map[string]answer{
		"GET /healthz": {body: `{"status":"ok"}`},
		"GET /readyz":  {body: `{"status":"ready","not_ready":[],"checks":{"temporal":"ok","sessions":"ok"}}`},
		"GET /v1/models?page_size=200": {body: `{"models":[{"name":"openai/gpt","provider":"openai","default":true},{"name":"openai/b",` +
			`"provider":"openai"}],"next_page_token":""}`},
		"GET /v1/agents?page_size=100":  {body: `{"agents":[{"id":"a"}],"next_page_token":""}`},
		"GET /v1/sources?page_size=200": {body: `{"sources":[{"name":"notes","state":"ready","tool_count":2}],"next_page_token":""}`},
	}
	for _, tc := range []struct {
		name   string
		change map[string]answer
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
			change: map[string]answer{"GET /readyz": {
				503,
				`{"status":"not ready","not_ready":["temporal"],"degraded":["workers"],` +
					`"checks":{"temporal":"not ready","workers":"degraded","sessions":"ok"},"causes":{"temporal":{` +
					`"cause":"Temporal does not answer at t:1","action":"Turns wait."},"workers":{"cause":"no worker runs"}}}`,
			}},
		},
		{
			name: "only the scripted model", want: []string{"warning  models", "→ Set OPENAI_API_KEY"},
			change: map[string]answer{"GET /v1/models?page_size=200": {body: `{"models":[{"name":"builtin/scripted","provider":"builtin",` +
				`"default":true}]}`}},
		},
		{
			name: "no model", code: 1, want: []string{"broken   models"},
			change: map[string]answer{"GET /v1/models?page_size=200": {body: `{"models":[]}`}},
		},
		{
			name: "a tool server is away", code: 1, want: []string{
				"broken   source notes         unreachable: connection refused",
				"windlass source sync notes",
			},
			change: map[string]answer{"GET /v1/sources?page_size=200": {body: `{"sources":[{"name":"notes","state":"unreachable",` +
				`"last_error":"connection refused"}]}`}},
		},
		{
			name: "a disabled source is fine", want: []string{"disabled"},
			change: map[string]answer{"GET /v1/sources?page_size=200": {body: `{"sources":[{"name":"notes","state":"pending","disabled":true}]}`}},
		},
		{
			name: "something else serves there", code: 1, want: []string{"broken   server", "answers /healthz with 404"},
			change: map[string]answer{"GET /healthz": {404, "hello"}},
		},
		{
			name: "memory is short", want: []string{"warning  memory               246MiB of a limit of 256MiB in use", "→ Set memory.limit"},
			change: map[string]answer{"GET /metrics": {body: "go_gc_gomemlimit_bytes 2.68435456e+08\n" +
				"go_memstats_sys_bytes 3.57564416e+08\ngo_memstats_heap_released_bytes 9.961472e+07\n"}},
		},
		{
			name: "memory has no limit", want: []string{"ok       memory               64MiB in use, no limit"},
			change: map[string]answer{"GET /metrics": {body: "go_gc_gomemlimit_bytes 9.223372036854776e+18\ngo_memstats_sys_bytes 6.7108864e+07\n"}},
		},
		{
			name: "a list is refused", code: 1, want: []string{"broken   sources              no", "→ Ask."},
			change: map[string]answer{"GET /v1/sources?page_size=200": {403, `{"code":"permission_denied","detail":"no","todo":"Ask."}`}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, map[string]answer{})
			maps.Copy(f.answers, healthy)
			maps.Copy(f.answers, tc.change)
			r := f.windlass("", "doctor", "--data-dir", t.TempDir())
			if r.code != tc.code {
				t.Errorf("exit code %d, want %d", r.code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.out, want) {
					t.Errorf("%q is not in\n%s", want, r.out)
				}
			}
		})
	}
}

func TestDoctorWithoutAServer(t *testing.T) {
	f := newFake(t, nil)
	dir := t.TempDir()
	r := f.windlass("", "doctor", "--server", "127.0.0.1:1", "--data-dir", dir, "-o", "json")
	for _, want := range []string{
		`"check": "server"`, `"check": "data directory"`, `"check": "temporal program"`,
		`"check": "port 127.0.0.1:8080"`, "windlass up",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if r.code != 1 {
		t.Errorf("exit code %d", r.code)
	}
	if r := f.windlass("", "doctor", "--server", "http://192.0.2.1:1", "--help"); r.code != 0 {
		t.Errorf("help = %d", r.code)
	}
	held, err := datadir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.windlass("", "doctor", "--server", "127.0.0.1:1", "--data-dir", dir); !strings.Contains(r.out, "a windlass is running on "+dir) {
		t.Errorf("%s", r.out)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}
