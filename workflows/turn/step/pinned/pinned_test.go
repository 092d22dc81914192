package pinned_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
)

// services has one turn with one tool, and counts what is read.
type services struct {
	turn  *step.Loaded
	reads int
}

func (s *services) LoadTurn(context.Context, *executionv1.LoadTurnRequest, ...grpc.CallOption) (*step.Loaded, error) {
	s.reads++
	return s.turn, nil
}

func (s *services) GetToolCall(_ context.Context, req *executionv1.GetToolCallRequest, _ ...grpc.CallOption) (*turnv1.ToolCall, error) {
	s.reads++
	return &turnv1.ToolCall{CallId: req.GetCallId(), Tool: "journal__tool"}, nil
}

func (s *services) GetDefinitions(
	_ context.Context, req *registryv1.GetDefinitionsRequest, _ ...grpc.CallOption,
) (*registryv1.GetDefinitionsResponse, error) {
	s.reads++
	resp := &registryv1.GetDefinitionsResponse{}
	for _, hash := range req.GetHashes() {
		if hash == "h1" {
			resp.Tools = append(resp.Tools, &registryv1.Tool{Name: "x__read", DefinitionHash: hash, Effect: turnv1.EffectClass_EFFECT_CLASS_READ})
		}
	}
	return resp, nil
}

func begun() *step.Loaded {
	return &step.Loaded{
		Agent: &sessionsv1.Agent{}, Surface: &turnv1.Surface{},
		Tools:       []*executionv1.PinnedTool{{Name: "x__read", DefinitionHash: "h1"}, {Name: "x__gone", DefinitionHash: "h2"}},
		AgentTools:  []*executionv1.AgentTool{{Name: "agent__billing"}},
		ClientTools: []*sessionsv1.ClientTool{{Name: "pick"}},
	}
}

func TestATurnIsReadOnceItHasBegun(t *testing.T) {
	s := &services{turn: &step.Loaded{Agent: &sessionsv1.Agent{}}}
	c := pinned.New("w1", 2, s, s)
	if _, err := c.Turn(t.Context(), "trn_1"); !fault.Is(err, faultv1.Reason_REASON_FAILED_PRECONDITION) {
		t.Fatalf("a turn that has not begun: %v", err)
	}
	s.turn = begun()
	for range 3 {
		if got, err := c.Turn(t.Context(), "trn_1"); err != nil || got != s.turn {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	if s.reads != 2 {
		t.Errorf("it was read %d times", s.reads)
	}
	unresolved := &step.Loaded{Surface: &turnv1.Surface{}, Unresolved: &turnv1.TurnError{Message: "no such secret"}}
	s.turn = unresolved
	if _, err := c.Turn(t.Context(), "trn_2"); !fault.Is(err, faultv1.Reason_REASON_INVALID_BLUEPRINT) {
		t.Errorf("an agent that is not resolved: %v", err)
	}
}

func TestDefinitionsAreReadOnce(t *testing.T) {
	s := &services{}
	c, turn := pinned.New("w1", 2, s, s), begun()
	if e := c.Effect(turn, "x__read"); e != turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED {
		t.Errorf("effect %v of a definition that is not at hand", e)
	}
	if e, err := c.ReadEffect(t.Context(), turn, "x__read"); err != nil || e != turnv1.EffectClass_EFFECT_CLASS_READ {
		t.Errorf("effect %v, %v", e, err)
	}
	all, err := c.Definitions(t.Context(), turn, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range all {
		names = append(names, d.GetName())
	}
	if got := strings.Join(names, " "); got != "x__read agent__billing client__pick" {
		t.Errorf("the model reads %s", got)
	}
	if s.reads != 2 { // the second asks for the definition that is gone
		t.Errorf("definitions were read %d times", s.reads)
	}
}

// TestTheToolThatAModelMustCallIsShown, however many there are.
func TestTheToolThatAModelMustCallIsShown(t *testing.T) {
	s := &services{}
	c, turn := pinned.New("w1", 1, s, s), begun()
	turn.Agent.Generation = &turnv1.Generation{ToolChoice: "x__read"}
	all, err := c.Definitions(t.Context(), turn, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(d *inferencev1.ToolDefinition) bool { return d.GetName() == "x__read" }) {
		t.Errorf("the model reads %v", all)
	}
	if c.Hidden(turn, "x__read") || !c.Hidden(turn, "x__gone") {
		t.Error("the wrong tool is hidden")
	}
}

func TestACallOfThisWorkerIsNotRead(t *testing.T) {
	s := &services{}
	c := pinned.New("w1", 2, s, s)
	c.KeepCall("trn_1", "msg_1", &turnv1.ToolCall{CallId: "a", Tool: "own__tool"})
	for id, want := range map[string]string{"a": "own__tool", "b": "journal__tool"} {
		got, err := c.Call(t.Context(), "trn_1", &turnv1.ToolCallRef{MessageId: "msg_1", CallId: id})
		if err != nil || got.GetTool() != want {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
}
