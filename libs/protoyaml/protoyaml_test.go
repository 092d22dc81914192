package protoyaml_test

import (
	"fmt"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/protoyaml"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// read returns the message of a text, and the mistakes in it.
func read(t *testing.T, text string, r protoyaml.Reader) (*registryv1.Source, []string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var wrong []string
	r.Name, r.ReadOnly = "source", protoyaml.OutputOnly
	r.Bad = func(line int, path, message string) bool {
		wrong = append(wrong, fmt.Sprintf("%d %s %s", line, path, message))
		return len(wrong) < 2
	}
	var s registryv1.Source
	r.Read(&s, doc.Content[0])
	return &s, wrong
}

func TestScalars(t *testing.T) {
	const text = "pin: \"true\"\nmax_calls: \"7\"\nlabels: {n: 1, b: true}\ntransport: 1.10\n"
	want := &registryv1.Source{Pin: true, MaxCalls: 7, Labels: map[string]string{"n": "1", "b": "true"}, Transport: "1.10"}
	if got, wrong := read(t, text, protoyaml.Reader{Loose: true}); len(wrong) > 0 || !proto.Equal(got, want) {
		t.Errorf("loose: %v, %q", got, wrong)
	}
	if _, wrong := read(t, text, protoyaml.Reader{}); !slices.Equal(wrong, []string{
		"1 pin want true or false",
		"3 labels want names with values; the values are text: put numbers and true or false in quotes", // and no more than two
	}) {
		t.Errorf("strict: %q", wrong)
	}
}

func TestReadOnlyFields(t *testing.T) {
	if got, wrong := read(t, "tool_count: 3\nname: a", protoyaml.Reader{}); len(wrong) > 0 || got.GetToolCount() != 0 || got.GetName() != "a" {
		t.Errorf("skipped: %v, %q", got, wrong)
	}
	if _, wrong := read(t, "tool_count: 3\nname: a", protoyaml.Reader{RefuseReadOnly: true}); len(wrong) != 1 {
		t.Errorf("refused: %q", wrong)
	}
}

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	got, wrong := read(t, "endpoints: [{name: a, body: {n: 9007199254740993}}]", protoyaml.Reader{})
	if text := canon.StructJSON(got.GetEndpoints()[0].GetBody()); len(wrong) > 0 || string(text) != `{"n":9007199254740993}` {
		t.Errorf("read %s, %q", text, wrong)
	}
	out, err := protoyaml.Write(got)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, wrong := read(t, string(text), protoyaml.Reader{}); len(wrong) > 0 || !proto.Equal(again, got) {
		t.Errorf("written:\n%s%q", text, wrong)
	}
}
