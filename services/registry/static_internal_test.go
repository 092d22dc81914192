package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/config"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/api"
)

func load(t *testing.T, sources string, environ ...string) ([]SourceConfig, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	if err := os.WriteFile(file, []byte(sources), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg Config
	err := config.Load(config.Options{File: file, EnvPrefix: "REGISTRY_", Environ: environ, Into: &cfg})
	return cfg.Sources, err
}

// TestSourcesAreReadAsTheirFieldsTakeThem: values are references, numbers in quotes and texts without, as in the rest of the file.
func TestSourcesAreReadAsTheirFieldsTakeThem(t *testing.T) {
	got, err := load(t, `
sources:
  - &first
    name: shop
    tenant: ${env:TENANT}
    kind: http
    base_url: http://x.example/${env:VERSION}
    max_calls: "${env:CALLS}"
    disabled: "true"
    max_calls_per_second: 2
    headers: {X-Version: 1.10, Authorization: "$${env:WINDLASS_TOOL_A}"}
    effects: {look: read}
    labels: null
    cache: {tool_ttl_seconds: {look: "60"}}
    descriptor_set: Cg==
    endpoints:
      - {name: look, path: /, body: {id: 9007199254740993, text: "${env:CALLS}"}}
    workflows:
      - {name: w, effect: once}
  - *first
`, "TENANT=acme", "VERSION=2", "CALLS=7")
	if err != nil {
		t.Fatal(err)
	}
	want := &registryv1.Source{
		Name: "shop", Kind: "http", BaseUrl: "http://x.example/2", MaxCalls: 7, Disabled: true, MaxCallsPerSecond: 2,
		Headers:       map[string]string{"X-Version": "1.10", "Authorization": "${env:WINDLASS_TOOL_A}"},
		Effects:       map[string]turnv1.EffectClass{"look": turnv1.EffectClass_EFFECT_CLASS_READ},
		Cache:         &registryv1.ResultCache{ToolTtlSeconds: map[string]uint32{"look": 60}},
		DescriptorSet: []byte("\n"),
		Workflows:     []*registryv1.Workflow{{Name: "w", Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE}},
		Endpoints:     []*registryv1.Endpoint{{Name: "look", Path: "/"}},
	}
	if len(got) != 2 || !proto.Equal(got[0].Source, got[1].Source) {
		t.Fatalf("the alias: %v", got)
	}
	stored, err := api.SourceFromProto(&registryv1.Source{Endpoints: got[0].GetEndpoints()})
	if err != nil {
		t.Fatal(err)
	}
	if body := stored.Spec.Endpoints[0].Body; body["text"] != "7" || fmt.Sprint(body["id"]) != "9007199254740993" {
		t.Errorf("body %v", body)
	}
	got[0].Endpoints[0].Body = nil
	if got[0].Tenant != "acme" || !proto.Equal(got[0].Source, want) {
		t.Errorf("got %q %v", got[0].Tenant, got[0].Source)
	}
	if got, err = load(t, "sources: [{name: a, url: http://x, tenant: null}]"); err != nil || got[0].Tenant != "" {
		t.Errorf("no tenant: %v, %v", got, err)
	}
	if got, err = load(t, "", `REGISTRY_SOURCES=[{name: a, url: "http://x/"}]`); err != nil || len(got) != 1 || got[0].GetUrl() != "http://x/" {
		t.Errorf("from the environment: %v, %v", got, err)
	}
}

func TestMistakesInSourcesAreNamed(t *testing.T) {
	for name, row := range map[string]struct{ source, want string }{
		"an unknown key":        {"{name: a, urll: x}", `windlass.yaml:3: sources[0].urll: is no field of source: did you mean "url"?`},
		"a key far below":       {"{name: a, auth: {kid: x}}", `windlass.yaml:3: sources[0].auth.kid: is no field of source: did you mean "kind"?`},
		"what the API sets":     {"{name: a, tool_count: 3}", "sources[0].tool_count: is no field of source"},
		"the ID":                {"{name: a, id: src_1}", "sources[0].id: is no field of source"},
		"a wrong effect":        {"{name: a, effects: {x: never}}", "the values are read, idempotent or once"},
		"a wrong number":        {"{name: a, max_calls: many}", "sources[0].max_calls: want a whole number of at least 0"},
		"a wrong boolean":       {"{name: a, pin: perhaps}", "sources[0].pin: want true or false"},
		"a key that is twice":   {"{name: a, pin: true, pin: false}", "sources[0].pin: is a duplicate"},
		"no fields":             {"text", "sources[0]: want keys below it"},
		"a missing variable":    {`{name: a, url: "${env:NONE}"}`, "environment variable NONE is not set"},
		"a tenant in a list":    {"{name: a, tenant: [acme]}", "sources[0].tenant: want text"},
		"a tag of another kind": {"{name: a, url: !secret x}", "the tag !secret is not known"},
	} {
		if _, err := load(t, "\nsources:\n  - "+row.source); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", name, err, row.want)
		}
	}
}

func TestSourcesAreWrittenAsTheyAreRead(t *testing.T) {
	body, err := structpb.NewStruct(map[string]any{"n": 1})
	if err != nil {
		t.Fatal(err)
	}
	want := SourceConfig{Tenant: "acme", Source: &registryv1.Source{
		Name: "shop", BaseUrl: "http://x", Effects: map[string]turnv1.EffectClass{"a": turnv1.EffectClass_EFFECT_CLASS_ONCE},
		Endpoints: []*registryv1.Endpoint{{Name: "a", Body: body}},
	}}
	text, err := yaml.Marshal(map[string]any{"sources": []SourceConfig{want}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, string(text))
	if err != nil || len(got) != 1 || got[0].Tenant != "acme" || !proto.Equal(got[0].Source, want.Source) {
		t.Errorf("%s\n%v, %v", text, got, err)
	}
}

func TestConfiguredSourcesBelongToTenants(t *testing.T) {
	source := func(tenant string) SourceConfig {
		return SourceConfig{Tenant: tenant, Source: &registryv1.Source{Name: "crm", Url: "http://127.0.0.1:1/mcp"}}
	}
	all, err := Config{Sources: []SourceConfig{source("acme"), source("")}}.static()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, s.Tenant+"/"+s.Name)
	}
	if want := []string{"default/mesh", "acme/crm", "default/crm"}; !slices.Equal(got, want) {
		t.Errorf("the sources are %v, want %v", got, want)
	}
	for _, bad := range [][]SourceConfig{{source(""), source("default")}, {source("a/b")}} {
		if _, err := (Config{Sources: bad}).static(); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}
