package begin_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// recalled is a fact that is recalled because the user said something like it.
func recalled(id, value string) *knowledgev1.RecalledFact {
	return &knowledgev1.RecalledFact{
		Fact:   &knowledgev1.Fact{Id: id, Entity: "user", Attribute: "home town", Value: value, Text: "home town: " + value},
		Reason: "words",
	}
}

func TestFactsEnterThePrompt(t *testing.T) {
	for _, row := range []struct {
		memory string
		reads  bool
	}{{"", false}, {contract.MemoryOff, false}, {contract.MemoryRead, true}, {contract.MemoryWrite, true}} {
		t.Run("memory "+row.memory, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Instructions: "Be kind.", Memory: row.memory})
			w.Facts(recalled("fct_1", "Bonn"))
			surface := w.Walk()[0].GetSurface()
			var refs []*turnv1.FactRef
			for _, e := range w.Journal.Events(in.TurnID) {
				refs = append(refs, e.GetTurnStarted().GetFacts()...)
			}
			asked := w.Asked()[0].GetInstructions()
			if !row.reads {
				if len(refs)+len(surface.GetFacts()) > 0 || asked != "Be kind." {
					t.Errorf("facts %v, asked with %q", refs, asked)
				}
				return
			}
			if len(refs) != 1 || refs[0].GetFactId() != "fct_1" || refs[0].GetReason() != "words" || len(surface.GetFacts()) != 1 {
				t.Errorf("facts %v and %v", refs, surface.GetFacts())
			}
			if strings.Contains(surface.String(), "Bonn") {
				t.Error("the surface, which the history of the workflow has, holds the fact itself")
			}
			if facts := contract.FactsIn(asked); !strings.HasPrefix(asked, "Be kind.\n\n") || len(facts) != 1 || facts[0].Value != "Bonn" {
				t.Errorf("asked with %q", asked)
			}
		})
	}
}

func TestAForgottenFactIsInNoLaterPrompt(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}, Memory: contract.MemoryRead}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 1))
	w.Facts(recalled("fct_1", "Bonn"), recalled("fct_2", "Rome"))
	w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)
	w.Facts(recalled("fct_2", "Rome"), recalled("fct_3", "Oslo")) // the first is forgotten, the last is new
	w.Advance()
	asked := w.Asked()
	if len(asked) != 2 || len(contract.FactsIn(asked[0].GetInstructions())) != 2 {
		t.Fatalf("asked %v", asked)
	}
	if facts := contract.FactsIn(asked[1].GetInstructions()); len(facts) != 1 || facts[0].ID != "fct_2" {
		t.Errorf("the second call reads %v", facts)
	}
}

func TestOnlyAgentsThatWriteMemoryHaveItsTool(t *testing.T) {
	for _, row := range []struct {
		name, memory string
		tools        []string
		want         uint32
	}{
		{"no tools but that", contract.MemoryWrite, nil, 1},
		{"with other tools", contract.MemoryWrite, []string{"x__*"}, 2},
		{"one that only reads", contract.MemoryRead, []string{"*"}, 1},
		{"one without memory", "", []string{"*"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			tools := []*registryv1.Tool{turntest.Tool(contract.Remember)}
			if row.tools != nil {
				tools = append(tools, turntest.Tool("x__echo"))
			}
			w := steptest.New(t, &sessionsv1.Agent{Tools: row.tools, Memory: row.memory}, tools...)
			if got := w.Walk()[0].GetSurface(); got.GetTools() != row.want {
				t.Errorf("surface %v", got)
			}
		})
	}
}

func TestATurnWaitsForMemory(t *testing.T) {
	for _, rpc := range []string{"Recall", "ReadFacts"} {
		w := steptest.New(t, &sessionsv1.Agent{Memory: contract.MemoryRead})
		w.Facts(recalled("fct_1", "Bonn"))
		w.Fail(rpc, fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "away"))
		out := w.Advance()
		if len(w.Asked()) != 1 || out[len(out)-1].GetKey() != "finish" {
			t.Errorf("%s is away: %v", rpc, out)
		}
	}
}

func TestTaintReachesTheToolThatRemembers(t *testing.T) {
	for _, row := range []struct {
		name    string
		model   turntest.Generate
		tainted bool
	}{
		{"after the user only", turntest.CallTools(contract.Remember, 1), false},
		{"after a tool", readsFirst, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Id: "helper", Tools: []string{"*"}, Memory: contract.MemoryWrite},
				turntest.Tool("x__echo"), turntest.Tool(contract.Remember))
			w.Model(row.model)
			w.Advance()
			called := w.Called()
			if len(called) == 0 {
				t.Fatal("no tool was called")
			}
			last := called[len(called)-1]
			if last.GetTool() != contract.Remember || last.GetTainted() != row.tainted || last.GetAgentId() != "helper" {
				t.Errorf("called %v", last)
			}
		})
	}
}

// readsFirst is a model that reads a tool, and then has something remembered.
func readsFirst(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	for _, m := range req.GetMessages() {
		if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
			return turntest.CallTools(contract.Remember, 0, 1)(req, stream)
		}
	}
	return turntest.CallTools("x__echo", 1)(req, stream)
}
