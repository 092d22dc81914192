package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
)

type common struct {
	LogLevel string `yaml:"log_level" doc:"Least severe level that is logged."`
}

type provider struct {
	URL     string            `yaml:"url"`
	APIKey  secret.Value      `yaml:"api_key" doc:"Key for the provider."`
	Weight  float64           `yaml:"weight"`
	Headers map[string]string `yaml:"headers"`
}

type user struct {
	Name   string   `yaml:"name"`
	Groups []string `yaml:"groups"`
}

type settings struct {
	common   `yaml:",inline"`
	Sessions struct {
		DatabaseURL string        `yaml:"database_url" doc:"Where sessions are kept."`
		Timeout     time.Duration `yaml:"timeout"`
		MaxInput    config.Size   `yaml:"max_input"`
	} `yaml:"sessions"`
	Providers map[string]provider `yaml:"providers"`
	Users     []user              `yaml:"users"`
	Allow     []string            `yaml:"allow"`
	Targets   map[string]string   `yaml:"targets"`
	Port      int                 `yaml:"port"`
	Debug     bool                `yaml:"debug"`
	Limit     *uint8              `yaml:"limit"`
	Extra     map[string]any      `yaml:"extra"`
	PlainName string
	Internal  func() `yaml:"-"`
}

func defaults() settings {
	var s settings
	s.LogLevel = "info"
	s.Sessions.Timeout = 10 * time.Second
	s.Sessions.MaxInput = 1 << 20
	s.Providers = map[string]provider{"openai": {URL: "https://api.openai.com/v1", Weight: 1}}
	s.Allow = []string{"a", "b", "c"}
	s.Port = 8080
	return s
}

func load(t *testing.T, yaml string, environ []string, args ...string) (settings, error) {
	t.Helper()
	opts := config.Options{
		Defaults: defaults(), EnvPrefix: "WINDLASS_", EnvAllow: []string{"WINDLASS_MODEL", "WINDLASS_TEST_*"},
		Environ: append([]string{"HOME=/root"}, environ...), FlagKeys: map[string]string{"database": "sessions.database_url"},
	}
	if yaml != "" {
		opts.File = filepath.Join(t.TempDir(), "w.yaml")
		if err := os.WriteFile(opts.File, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts.Flags = pflag.NewFlagSet("test", pflag.ContinueOnError)
	opts.Flags.String("database", "flag-default", "")
	opts.Flags.Int("port", 1, "")
	opts.Flags.String("log-level", "", "")
	opts.Flags.StringSlice("allow", nil, "")
	opts.Flags.StringP("output", "o", "", "")
	if err := opts.Flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var s settings
	opts.Into = &s
	err := config.Load(opts)
	return s, err
}

func TestDefaultsAlone(t *testing.T) {
	got, err := load(t, "", nil)
	if err != nil || !reflect.DeepEqual(got, defaults()) {
		t.Errorf("Load = %+v, %v", got, err)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	yaml := "port: 1000\nlog_level: file\nsessions: {database_url: file}\n"
	env := []string{"WINDLASS_PORT=2000", "WINDLASS_LOG_LEVEL=env"}
	got, err := load(t, yaml, env, "--port=3000", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if got.Port != 3000 || got.LogLevel != "env" || got.Sessions.DatabaseURL != "file" || got.Sessions.Timeout != 10*time.Second {
		t.Errorf("Load = %+v", got)
	}
}

func TestFile(t *testing.T) {
	got, err := load(t, `
sessions:
  timeout: 1h30m
  max_input: 64KiB
providers:
  openai: {api_key: "key ${env:OPENAI_KEY}", headers: {x.y/z: "1"}}
  local: {url: http://x, weight: 2}
users:
- name: ada
  groups: &g [x, y]
- {name: "bob$${env:NO}", groups: *g}
allow: [z]
debug: true
limit: 7
extra: {n: 1, list: [true, "${scope.key}"]}
plain_name: 1.10
port: ~
`, []string{"OPENAI_KEY=sk-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Sessions.Timeout, want.Sessions.MaxInput = 90*time.Minute, 64<<10
	want.Providers = map[string]provider{
		"openai": {URL: "https://api.openai.com/v1", Weight: 1, APIKey: secret.New("key sk-1"), Headers: map[string]string{"x.y/z": "1"}},
		"local":  {URL: "http://x", Weight: 2},
	}
	want.Users = []user{{"ada", []string{"x", "y"}}, {"bob${env:NO}", []string{"x", "y"}}}
	want.Allow = []string{"z"}
	want.Debug = true
	limit := uint8(7)
	want.Limit = &limit
	want.Extra = map[string]any{"n": 1, "list": []any{true, "${scope.key}"}}
	want.PlainName = "1.10"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Load = %+v\nwant   %+v", got, want)
	}
}

func TestEnvironment(t *testing.T) {
	got, err := load(t, "", []string{
		"WINDLASS_SESSIONS_DATABASE_URL=sqlite:x", "WINDLASS_SESSIONS_MAX_INPUT=2MiB", "WINDLASS_MODEL=whatever", "WINDLASS_TEST_X=1",
		"WINDLASS_PROVIDERS_OPENAI_API_KEY=sk", "WINDLASS_PROVIDERS_MY_OWN_URL=http://y", "WINDLASS_ALLOW=p, q",
		`WINDLASS_USERS=[{"name":"eve","groups":["g"]}]`, "WINDLASS_DEBUG=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Sessions.DatabaseURL != "sqlite:x" || got.Sessions.MaxInput != 2<<20 || !got.Debug {
		t.Errorf("Load = %+v", got)
	}
	if p := got.Providers["openai"]; p.APIKey.Reveal() != "sk" || p.URL != "https://api.openai.com/v1" {
		t.Errorf("openai = %+v", p)
	}
	if p := got.Providers["my_own"]; p.URL != "http://y" {
		t.Errorf("providers = %+v", got.Providers)
	}
	if !reflect.DeepEqual(got.Allow, []string{"p", "q"}) || !reflect.DeepEqual(got.Users, []user{{"eve", []string{"g"}}}) {
		t.Errorf("lists = %v, %v", got.Allow, got.Users)
	}
}

func TestMapsInTheEnvironment(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       map[string]string
		wrong      string
	}{
		{"one", "sessions=127.0.0.1:9091", map[string]string{"sessions": "127.0.0.1:9091"}, ""},
		{
			"several", "sessions=dns:///sessions:9091, registry = :9092",
			map[string]string{"sessions": "dns:///sessions:9091", "registry": ":9092"},
			"",
		},
		{"a value with =", "a=b=c", map[string]string{"a": "b=c"}, ""},
		{"an empty value", "a=", map[string]string{"a": ""}, ""},
		{"JSON", `{"sessions":":1"}`, map[string]string{"sessions": ":1"}, ""},
		{"YAML", "sessions: dns:///x=1", map[string]string{"sessions": "dns:///x=1"}, ""},
		{"no pair", "sessions", nil, "targets"},
		{"half a pair", "a=1,b", nil, "targets"},
	} {
		got, err := load(t, "", []string{"WINDLASS_TARGETS=" + row.text})
		if row.wrong == "" && (err != nil || !reflect.DeepEqual(got.Targets, row.want)) ||
			row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)) {
			t.Errorf("%s: %v, %v", row.name, got.Targets, err)
		}
	}
	got, err := load(t, "targets: {a: file, b: file}", []string{"WINDLASS_TARGETS=a=1", "WINDLASS_TARGETS_C=3"})
	if want := map[string]string{"a": "1", "b": "file", "c": "3"}; err != nil || !reflect.DeepEqual(got.Targets, want) {
		t.Errorf("over a file: %v, %v", got.Targets, err)
	}
}

func TestFlags(t *testing.T) {
	got, err := load(t, "", nil, "--database=sqlite:f", "--log-level=debug", "--allow=a,b", "-o", "json")
	if err != nil || got.Sessions.DatabaseURL != "sqlite:f" || got.LogLevel != "debug" || !reflect.DeepEqual(got.Allow, []string{"a", "b"}) {
		t.Errorf("Load = %+v, %v", got, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		env        []string
		want       string
		hide       string
	}{
		{"unknown key", "port: 1\nsesions:\n  timeout: 1s\n", nil, `w.yaml:2: sesions: unknown key, did you mean "sessions"?`, ""},
		{"unknown key below", "sessions:\n  timout: 1s\n", nil, `w.yaml:2: sessions.timout: unknown key, did you mean "timeout"?`, ""},
		{"unknown key in a list", "users:\n- name: a\n- namee: b\n", nil, `w.yaml:3: users[1].namee: unknown key, did you mean "name"?`, ""},
		{"unknown key like nothing", "quux: 1\n", nil, "w.yaml:1: quux: unknown key\n", ""},
		{"tag of another program", "plain_name: !secret x\n", nil, "w.yaml:1: plain_name: the tag !secret is not known", ""},
		{"key set twice", "port: 1\nport: 2\n", nil, "w.yaml:2: port: set twice", ""},
		{
			"unknown variable", "",
			[]string{"WINDLASS_SESSION_TIMEOUT=1s"},
			`environment variable WINDLASS_SESSION_TIMEOUT: WINDLASS_SESSION_TIMEOUT: unknown variable, did you mean "WINDLASS_SESSIONS_TIMEOUT"?`,
			"",
		},
		{"no duration", "sessions:\n  timeout: 10\n", nil, `w.yaml:2: sessions.timeout: want a duration such as 30s or 1h30m, not "10"`, ""},
		{"no size", "sessions:\n  max_input: big\n", nil, `w.yaml:2: sessions.max_input: want a size such as 64KiB or 10MB, not "big"`, ""},
		{"no number", "port: many\n", nil, `w.yaml:1: port: want a whole number, not "many"`, ""},
		{"number too large", "limit: 256\n", nil, `w.yaml:1: limit: want a whole number that is not negative, not "256"`, ""},
		{
			"no bool in the environment", "",
			[]string{"WINDLASS_DEBUG=perhaps"},
			`environment variable WINDLASS_DEBUG: debug: want true or false, not "perhaps"`, "",
		},
		{"value for an object", "sessions: 5\n", nil, "w.yaml:1: sessions: want keys below it", ""},
		{"value for a list", "users: 5\n", nil, "w.yaml:1: users: want a list", ""},
		{"object for a value", "port:\n  x: 1\n", nil, "w.yaml:2: port: want a single value", ""},
		{"missing reference", "log_level: ${env:NOT_SET}\n", nil, "w.yaml:1: log_level: environment variable NOT_SET is not set", ""},
		{"secret of the wrong type", "port: ${env:KEY}\n", []string{"KEY=hunter2"}, "w.yaml:1: port: want a whole number", "hunter2"},
		{"no YAML", "a: [", nil, "w.yaml: yaml:", ""},
		{"a list at the top", "- a\n", nil, "w.yaml:1: want key: value lines", ""},
		{
			"alias bomb",
			"extra:\n  a: &a [x]\n  b: &b [*a]\n  c: &c [*b]\n  d: &d [*c]\n  e: &e [*d]\n  f: &f [*e]\n  g: &g [*f]\n  h: &h [*g]\n  i: &i " +
				"[*h]\n  j: [*i]\n", nil, "aliases are nested too deeply", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, tc.yaml, tc.env)
			if err == nil || !strings.Contains(err.Error()+"\n", tc.want) || tc.hide != "" && strings.Contains(err.Error(), tc.hide) {
				t.Errorf("Load = %v\nwant   %s", err, tc.want)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(t, "prot: 1\ndebgu: true\n", []string{"WINDLASS_PROT=1"})
	if err == nil || strings.Count(err.Error(), "did you mean") != 3 {
		t.Errorf("Load = %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	var s settings
	err := config.Load(config.Options{File: filepath.Join(t.TempDir(), "none.yaml"), Into: &s})
	if err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("Load = %v", err)
	}
}

func unwrapAll(err error) error {
	if os.IsNotExist(err) {
		return err
	}
	switch x := err.(type) { //nolint:errorlint // this walks the chain itself
	case interface{ Unwrap() error }:
		return unwrapAll(x.Unwrap())
	case interface{ Unwrap() []error }:
		return unwrapAll(x.Unwrap()[0])
	}
	return err
}

func TestErrorLeavesTargetAlone(t *testing.T) {
	s := settings{Port: 5}
	err := config.Load(config.Options{Environ: []string{"W_PORT=x"}, EnvPrefix: "W_", Into: &s})
	if err == nil || s.Port != 5 {
		t.Errorf("Load = %v, %+v", err, s)
	}
}

func TestDefaultsAreNotChanged(t *testing.T) {
	d := defaults()
	var s settings
	err := config.Load(config.Options{Defaults: &d, Environ: []string{"W_PROVIDERS_OPENAI_URL=x", "W_ALLOW=q"}, EnvPrefix: "W_", Into: &s})
	if err != nil || !reflect.DeepEqual(d, defaults()) || s.Providers["openai"].URL != "x" {
		t.Errorf("Load = %v, defaults = %+v", err, d)
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1024": 1024, "1KiB": 1024, "1 kib": 1024, "1.5MiB": 3 << 19, "10MB": 1e7, "2TiB": 2 << 40,
		"7B": 7, "1kb": 1000,
	} {
		var s config.Size
		if err := s.UnmarshalText([]byte(in)); err != nil || int64(s) != want {
			t.Errorf("%q = %d, %v", in, s, err)
		}
		var again config.Size
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Errorf("%q writes %q, which reads %d, %v", in, s, again, err)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1XB", "99999999TiB", "NaN"} {
		var s config.Size
		if err := s.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q = %d", in, s)
		}
	}
}

func TestDescribe(t *testing.T) {
	got := map[string]config.Key{}
	for _, k := range config.Describe(defaults(), "WINDLASS_") {
		got[k.Path] = k
	}
	for _, want := range []config.Key{
		{Path: "log_level", Env: "WINDLASS_LOG_LEVEL", Type: "string", Default: "info", Doc: "Least severe level that is logged."},
		{Path: "sessions.timeout", Env: "WINDLASS_SESSIONS_TIMEOUT", Type: "duration", Default: "10s"},
		{Path: "sessions.max_input", Env: "WINDLASS_SESSIONS_MAX_INPUT", Type: "size", Default: "1MiB"},
		{Path: "providers.<name>.api_key", Env: "WINDLASS_PROVIDERS_<NAME>_API_KEY", Type: "string", Doc: "Key for the provider."},
		{Path: "users[].name", Type: "string"},
		{Path: "port", Env: "WINDLASS_PORT", Type: "int", Default: "8080"},
		{Path: "debug", Env: "WINDLASS_DEBUG", Type: "bool", Default: "false"},
		{Path: "limit", Env: "WINDLASS_LIMIT", Type: "int"},
	} {
		if got[want.Path] != want {
			t.Errorf("%s: %+v\nwant %+v", want.Path, got[want.Path], want)
		}
	}
}
