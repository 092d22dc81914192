package fieldmask_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

var (
	agents   = fieldmask.Resource{Name: "agent", Mutable: []string{"display_name", "limits", "params_schema", "tools"}}
	webhooks = fieldmask.Resource{Name: "webhook", Mutable: []string{"url", "events", "disabled"}, Fixed: []string{"per_turn"}}
	sources  = fieldmask.Resource{Name: "source", Mutable: []string{"url", "env"}, Fixed: []string{"kind"}}
)

func TestApply(t *testing.T) {
	for _, row := range []struct {
		name     string
		resource fieldmask.Resource
		kind     proto.Message
		to, from string
		paths    string
		want     string
	}{
		{
			"no mask takes what is set", agents, &sessionsv1.Agent{}, `{"id":"a","display_name":"A","tools":["x"]}`, `{"id":"b","display_name":"B"}`,
			"", `{"id":"a","display_name":"B","tools":["x"]}`,
		},
		{
			"a mask clears what is not set", agents, &sessionsv1.Agent{}, `{"display_name":"A","tools":["x"]}`, `{"display_name":"B"}`, "tools",
			`{"display_name":"A"}`,
		},
		{
			"all mutable fields", agents, &sessionsv1.Agent{}, `{"id":"a","display_name":"A","tools":["x"]}`, `{"id":"b","tools":["y"]}`, "*",
			`{"id":"a","tools":["y"]}`,
		},
		{
			"a prefix of the resource's name", agents, &sessionsv1.Agent{}, `{}`, `{"display_name":"B"}`, "agent.display_name",
			`{"display_name":"B"}`,
		},
		{
			"a field in a field", agents, &sessionsv1.Agent{}, `{"limits":{"max_steps":3,"turn_seconds":9}}`, `{"limits":{"max_steps":4}}`,
			"limits.max_steps", `{"limits":{"max_steps":4,"turn_seconds":9}}`,
		},
		{
			"a field in an object changes all of it", agents, &sessionsv1.Agent{}, `{"params_schema":{"a":1}}`, `{"params_schema":{"b":2}}`,
			"params_schema.b", `{"params_schema":{"b":2}}`,
		},
		{
			"a key of a map changes all of it", sources, &registryv1.Source{}, `{"env":{"A":"1"}}`, `{"env":{"B":"2"}}`, "env.B",
			`{"env":{"B":"2"}}`,
		},
		{"output fields are ignored", agents, &sessionsv1.Agent{}, `{"revision":3}`, `{"revision":9}`, "revision", `{"revision":3}`},
		{"the same fixed value", sources, &registryv1.Source{}, `{"kind":"mcp"}`, `{"kind":"mcp","url":"x"}`, "", `{"kind":"mcp","url":"x"}`},
		{"no fixed value", sources, &registryv1.Source{}, `{"kind":"mcp"}`, `{"url":"x"}`, "kind,url", `{"kind":"mcp","url":"x"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			to, from, want := read(t, row.kind, row.to), read(t, row.kind, row.from), read(t, row.kind, row.want)
			if err := row.resource.Apply(to, from, split(row.paths)); err != nil || !proto.Equal(to, want) {
				t.Errorf("got %v (%v), want %v", to, err, want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, row := range []struct {
		name     string
		resource fieldmask.Resource
		kind     proto.Message
		to, from string
		paths    string
		field    string
		says     string
	}{
		{"an unknown field", agents, &sessionsv1.Agent{}, `{}`, `{}`, "colour", "update_mask", "there is no such field"},
		{"an unknown field in a field", agents, &sessionsv1.Agent{}, `{}`, `{}`, "limits.colour", "update_mask", "there is no such field"},
		{"a field in a text", agents, &sessionsv1.Agent{}, `{}`, `{}`, "display_name.x", "update_mask", "display_name has no fields"},
		{"a field in a list", agents, &sessionsv1.Agent{}, `{}`, `{}`, "tools.0", "update_mask", "tools has no fields"},
		{
			"another fixed value", sources, &registryv1.Source{}, `{"kind":"mcp"}`, `{"kind":"agent"}`, "", "source.kind",
			`is "mcp" and cannot be changed`,
		},
		{
			"another fixed value, named", sources, &registryv1.Source{}, `{"kind":"mcp"}`, `{"kind":"agent"}`, "kind", "source.kind",
			`is "mcp" and cannot be changed`,
		},
		{
			"another fixed value among all", sources, &registryv1.Source{}, `{"kind":"mcp"}`, `{"kind":"agent"}`, "*", "source.kind",
			`is "mcp" and cannot be changed`,
		},
		{
			"false for true", webhooks, &sessionsv1.Webhook{}, `{"per_turn":true}`, `{}`, "per_turn", "webhook.per_turn",
			"is true and cannot be changed",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.resource.Apply(read(t, row.kind, row.to), read(t, row.kind, row.from), split(row.paths))
			fields := fault.From(err).Fields
			if len(fields) != 1 || fields[0].Path != row.field || !strings.Contains(fields[0].Message, row.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func read(t *testing.T, kind proto.Message, text string) proto.Message {
	t.Helper()
	m := kind.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func split(paths string) []string {
	if paths == "" {
		return nil
	}
	return strings.Split(paths, ",")
}
