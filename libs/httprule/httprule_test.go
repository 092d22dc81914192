package httprule

import (
	"reflect"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/testmain"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestBindingsOfAMethod(t *testing.T) {
	turns := sessionsv1.File_windlass_sessions_v1_turns_proto.Services().ByName("TurnService")
	for name, want := range map[protoreflect.Name][]Binding{
		"GetTurn":    {{"GET", "/v1/turns/{turn_id}", ""}},
		"CancelTurn": {{"POST", "/v1/turns/{turn_id}:cancel", "*"}},
		"ListTurns":  {{"GET", "/v1/turns", ""}, {"GET", "/v1/sessions/{session_id}/turns", ""}},
		"WatchTurn":  nil,
	} {
		if got := Of(turns.Methods().ByName(name)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestMethodsOfRules(t *testing.T) {
	for want, rule := range map[string]*annotations.HttpRule{
		"GET":    {Pattern: &annotations.HttpRule_Get{Get: "/x"}},
		"PUT":    {Pattern: &annotations.HttpRule_Put{Put: "/x"}},
		"POST":   {Pattern: &annotations.HttpRule_Post{Post: "/x"}},
		"DELETE": {Pattern: &annotations.HttpRule_Delete{Delete: "/x"}},
		"PATCH":  {Pattern: &annotations.HttpRule_Patch{Patch: "/x"}},
		"":       {Pattern: &annotations.HttpRule_Custom{Custom: &annotations.CustomHttpPattern{Kind: "QUERY", Path: "/x"}}},
	} {
		if got := binding(rule); got.Method != want || got.Pattern != "/x" {
			t.Errorf("%q: %v", want, got)
		}
	}
}

func TestVariables(t *testing.T) {
	got := Binding{Pattern: "/v1/a/{agent.id}/b/{turn_id}:stop"}.Variables()
	if !reflect.DeepEqual(got, []string{"agent.id", "turn_id"}) {
		t.Errorf("variables %v", got)
	}
}
