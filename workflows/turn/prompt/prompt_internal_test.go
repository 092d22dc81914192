package prompt

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/tokens"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/infer"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// planned answers as a model that plans two steps, the first of which calls a tool.
func planned(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	switch about := req.GetInstructions(); {
	case strings.Contains(about, contract.MarkPlanAnswer):
		return turntest.Say("all done")(req, stream)
	case strings.Contains(about, contract.MarkPlanStep):
		if len(req.GetTools()) > 0 && !strings.Contains(steptest.LastText(req), "Do step 2") && req.GetMessages()[len(req.GetMessages())-1].
			GetToolResult() == nil {
			return turntest.CallTools("x__echo", 1)(req, stream)
		}
		return turntest.Say("did it")(req, stream)
	case strings.Contains(about, contract.MarkPlan):
		return turntest.Say(`{"steps":[{"title":"one","goal":"this"},{"title":"two","goal":"that"}]}`)(req, stream)
	}
	return turntest.Say("ok")(req, stream)
}

// TestTheContextIsWhatTheModelWasSent runs turns of all kinds, and compares what is read afterwards with what the model was sent.
func TestTheContextIsWhatTheModelWasSent(t *testing.T) {
	for _, row := range []struct {
		name  string
		agent *sessionsv1.Agent
		model turntest.Generate
		facts bool
		// holds is text that the context of the last step has, and lacks text that none has.
		holds, lacks string
	}{
		{name: "tools", agent: &sessionsv1.Agent{Instructions: "Be kind.", Tools: []string{"*"}}, holds: "Be kind."},
		{
			name: "text protocol", agent: &sessionsv1.Agent{Strategy: turnv1.Strategy_STRATEGY_REACT_TEXT, Tools: []string{"*"}},
			model: steptest.Texts("Thought: I must ask.\nAction: x__echo\nAction Input: {\"a\": 1}", "Final Answer: it is 1"),
			holds: "Observation: ",
		},
		{
			name: "plan", model: planned, holds: contract.ResultsPrefix,
			agent: &sessionsv1.Agent{Instructions: "Plan well.", Strategy: turnv1.Strategy_STRATEGY_PLAN, Tools: []string{"*"}},
		},
		{
			name: "memory", agent: &sessionsv1.Agent{Instructions: "Be kind.", Tools: []string{"*"}, Memory: contract.MemoryRead}, facts: true,
			holds: "lives in Bonn",
		},
		{
			name: "a shield redacts", agent: &sessionsv1.Agent{Tools: []string{"*"}, Shields: []string{"input-redact-hello"}}, holds: "***",
			lacks: "hello",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := steptest.New(t, row.agent, turntest.Tool("x__echo"))
			w.Model(turntest.CallTools("x__echo", 1))
			if row.model != nil {
				w.Model(row.model)
			}
			if row.facts {
				w.Facts(&knowledgev1.RecalledFact{Fact: &knowledgev1.Fact{Id: "fct_1", Entity: "user", Text: "lives in Bonn"}})
			}
			compare(t, w, row.holds, row.lacks)
		})
	}
}

// compare runs the turn of a world to its end, with the conversation as each model step reads it, and compares all model steps.
func compare(t *testing.T, w *steptest.World, holds, lacks string) {
	t.Helper()
	histories := map[int]*executionv1.GetContextResponse{}
	var all []*turnv1.StepOutcome
	for d := engine.Next(engine.State{}); !d.Done; d = engine.Next(engine.State{Outcomes: all}) {
		for _, ref := range d.Steps {
			if n, ok := stepkey.ParseInfer(ref.GetKey()); ok {
				read, err := w.Deps().Sessions.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: steptest.In.TurnID})
				if err != nil {
					t.Fatal(err)
				}
				histories[n] = read
			}
			all = append(all, w.Do(ref))
		}
	}
	loaded, err := w.Deps().Sessions.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: steptest.In.TurnID})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Deps{Tools: w.Deps().Tools, Shields: w.Deps().Shields, Facts: w.Deps().Facts, MaxShownTools: 64})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(histories); n++ {
		got, err := r.Read(t.Context(), proto.CloneOf(loaded), uint32(n), histories[n], noFiles)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(w.Asked(), func(req *inferencev1.GenerateRequest) bool { return req.GetStep() == stepkey.Infer(n) })
		if i < 0 {
			t.Fatalf("the model was not asked in step %d", n)
		}
		text := render(got.GetParts())
		if want := render(parts(loaded, sent(w.Asked()[i], loaded, got), histories[n].GetMessages())); text != want {
			t.Errorf("step %d has\n%s\nbut the model was sent\n%s", n, text, want)
		}
		if n == len(histories) && !strings.Contains(text, holds) {
			t.Errorf("step %d lacks %q:\n%s", n, holds, text)
		}
		if lacks != "" && strings.Contains(text, lacks) {
			t.Errorf("step %d has %q:\n%s", n, lacks, text)
		}
	}
}

// sent is a request that a model was sent, split by the texts that the context names.
func sent(req *inferencev1.GenerateRequest, loaded *executionv1.LoadTurnResponse, got *sessionsv1.TurnContext) infer.Request {
	out := infer.Request{GenerateRequest: req, Own: loaded.GetAgent().GetInstructions()}
	for _, p := range got.GetParts() {
		if id := p.GetOrigin().GetFactId(); id != "" {
			out.Facts = append(out.Facts, &knowledgev1.Fact{Id: id, Entity: p.GetName(), Text: "lives in Bonn"})
		}
	}
	return out
}

func render(parts []*sessionsv1.ContextPart) string {
	var out []string
	for _, p := range parts {
		text, _ := prototext.MarshalOptions{}.Marshal(p)
		out = append(out, strings.Join(strings.Fields(string(text)), " "))
	}
	return strings.Join(out, "\n")
}

func noFiles(context.Context, *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error) {
	return &executionv1.ReadTurnFileResponse{}, nil
}

func TestPartsHaveTheTokensOfTheirMessage(t *testing.T) {
	text := func(s string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
	}
	picture := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte{1}, Name: "a.png"}}}
	for name, m := range map[string]*turnv1.Message{
		"nothing": {Role: turnv1.Role_ROLE_ASSISTANT},
		"text":    {Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{text("hello there"), text("and more")}},
		"picture": {Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{picture}},
		"both":    {Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{text("what is this?"), picture}},
		"calls":   {Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: []*turnv1.ToolCall{{Tool: "a__b", ArgumentsJson: `{"x":1}`}, {Tool: "c__d"}}},
		"result":  {Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{Tool: "a__b", Content: []*turnv1.ContentPart{text("42")}}},
	} {
		var sum int64
		for _, p := range message(m) {
			sum += p.GetTokens()
			if p.GetRole() != m.GetRole() {
				t.Errorf("%s: role %s", name, p.GetRole())
			}
		}
		if want := estimateOf(m); sum != want {
			t.Errorf("%s: %d tokens, want %d", name, sum, want)
		}
	}
}

func estimateOf(m *turnv1.Message) int64 { return int64(tokens.Message(m)) }
