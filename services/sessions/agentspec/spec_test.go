package agentspec_test

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
)

func TestABlueprintIsReadAsItWasStored(t *testing.T) {
	want := sessionstest.Struct[agentspec.Spec]()
	if got := agentspec.Of(want.Stored()); !reflect.DeepEqual(got, want) {
		t.Errorf("stored and read it is %+v\nwant %+v", got, want)
	}
}

func TestNothingOfAStoredBlueprintIsLost(t *testing.T) {
	want := sessionstest.Message[*storev1.StoredAgent]()
	want.CreateTime, want.UpdateTime = nil, nil // the store adds them
	if got := agentspec.Of(want).Stored(); !proto.Equal(got, want) {
		t.Errorf("read and stored it is %v\nwant %v", got, want)
	}
}

func TestNoBlueprintIsTheEmptyOne(t *testing.T) {
	if got := agentspec.Of(&storev1.StoredAgent{}); !reflect.DeepEqual(got, agentspec.Spec{}) {
		t.Errorf("nothing is read as %+v", got)
	}
	if m := (agentspec.Spec{}).Stored(); m.GetLimits() != nil || m.GetExecutor() != nil {
		t.Errorf("the empty blueprint is stored as %v", m)
	}
	if agentspec.LimitsOf(nil) != nil || (*agentspec.Limits)(nil).Stored() != nil {
		t.Error("no limits became some")
	}
}

// TestEveryFieldCountsForEquality changes one field after the other.
func TestEveryFieldCountsForEquality(t *testing.T) {
	base := sessionstest.Struct[agentspec.Spec]()
	if !base.Equal(sessionstest.Struct[agentspec.Spec]()) {
		t.Fatal("two equal blueprints differ")
	}
	for _, place := range places(reflect.TypeFor[agentspec.Spec](), nil) {
		changed := sessionstest.Struct[agentspec.Spec]()
		field := reflect.ValueOf(&changed).Elem().FieldByIndex(place)
		field.SetZero()
		if base.Equal(changed) || changed.Equal(base) {
			t.Errorf("%s does not count", name(reflect.TypeFor[agentspec.Spec](), place))
		}
	}
}

// TestAChangedCloneLeavesTheOriginal changes everything that a clone refers to.
func TestAChangedCloneLeavesTheOriginal(t *testing.T) {
	original, want := sessionstest.Struct[agentspec.Spec](), sessionstest.Struct[agentspec.Spec]()
	c := original.Clone()
	if !c.Equal(original) {
		t.Fatalf("the clone is %+v", c)
	}
	c.Tools[0], c.Agents[0], c.Shields[0], c.Labels["x"] = "t", "a", "s", "y"
	c.InstructionRules[0].Instructions = "other"
	c.Limits.MaxSteps, c.Limits.MaxCost = 999, "9.99"
	c.Executor.Kind, c.Executor.Command[0], c.Executor.Env["x"], c.Executor.Headers["x"] = "other", "c", "e", "h"
	if !original.Equal(want) {
		t.Errorf("the original is now %+v\nwant %+v", original, want)
	}
}

func TestTheEmptyBlueprintHasAClone(t *testing.T) {
	if c := (agentspec.Spec{}).Clone(); !reflect.DeepEqual(c, agentspec.Spec{}) {
		t.Errorf("the clone is %+v", c)
	}
}

func TestAnExecutorOfAnotherProcessHostsTheAgent(t *testing.T) {
	for kind, want := range map[string]bool{
		"": false, "builtin": false, "process": true, "http": true, "grpc": true,
		"carrier-pigeon": false,
	} {
		if got := (agentspec.Spec{Executor: &agentspec.Executor{Kind: kind}}).Hosted(); got != want {
			t.Errorf("an executor of kind %q hosts the agent: %t, want %t", kind, got, want)
		}
	}
	if (agentspec.Spec{}).Hosted() {
		t.Error("an agent without an executor is hosted")
	}
}

// places lists the fields of a struct, and of the structs that its fields point to.
func places(typ reflect.Type, above []int) (all [][]int) {
	for i := range typ.NumField() {
		place := append(append([]int{}, above...), i)
		all = append(all, place)
		field := typ.Field(i).Type
		if field.Kind() == reflect.Pointer && field.Elem().Kind() == reflect.Struct && field.Elem().PkgPath() == typ.PkgPath() {
			all = append(all, places(field.Elem(), place)...)
		}
	}
	return all
}

func name(typ reflect.Type, place []int) string { return typ.FieldByIndex(place).Name }
