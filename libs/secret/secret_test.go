package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/libs/secret"
)

const canary = "sk-canary-1234"

type holder struct {
	Key    secret.Value `yaml:"key"`
	hidden secret.Value
	Ptr    *secret.Value
	List   []secret.Value
}

func TestNothingPrintsASecret(t *testing.T) {
	v := secret.New(canary)
	h := holder{Key: v, hidden: v, Ptr: &v, List: []secret.Value{v}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%40s"} {
		fmt.Fprintf(&out, verb, v)
		fmt.Fprintf(&out, verb, &v)
		fmt.Fprintf(&out, verb, h)
		fmt.Fprintf(&out, verb, &h)
	}
	fmt.Fprintln(&out, v, h, fmt.Errorf("with %v", v), string(fmt.Append(nil, v)))
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).With("k", v).Info("m", "v", v, "h", h, "p", &v, slog.Group("g", "v", v))
	}
	for _, x := range []any{v, h, map[string]any{"v": v}} {
		encode(t, &out, x)
	}
	if s := out.String(); strings.Contains(s, canary) || strings.Contains(s, fmt.Sprintf("%x", canary)) {
		t.Errorf("the secret shows in:\n%s", s)
	}
	if !strings.Contains(out.String(), secret.Redacted) {
		t.Error("nothing says that something was redacted")
	}
}

func encode(t *testing.T, out *bytes.Buffer, x any) {
	t.Helper()
	j, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(j)
	out.Write(y)
}

func TestReveal(t *testing.T) {
	if got := secret.New(canary).Reveal(); got != canary {
		t.Errorf("Reveal = %q", got)
	}
	var zero secret.Value
	if zero.Reveal() != "" || !zero.IsZero() || secret.New(canary).IsZero() {
		t.Error("the zero value is the empty secret, and only it")
	}
}

func TestEqual(t *testing.T) {
	if !secret.New("a").Equal(secret.New("a")) || secret.New("a").Equal(secret.New("b")) || !(secret.Value{}).Equal(secret.New("")) {
		t.Error("Equal compares what is inside")
	}
}

func TestUnmarshal(t *testing.T) {
	var h holder
	if err := yaml.Unmarshal([]byte("key: "+canary), &h); err != nil || h.Key.Reveal() != canary {
		t.Errorf("from YAML: %q, %v", h.Key.Reveal(), err)
	}
	var v secret.Value
	if err := json.Unmarshal([]byte(`"`+canary+`"`), &v); err != nil || v.Reveal() != canary {
		t.Errorf("from JSON: %q, %v", v.Reveal(), err)
	}
}
