package sessions_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// seedless are models that take neither a seed nor a temperature nor a choice of tools.
type seedless struct{}

func (seedless) ResolveModel(_ context.Context, req *inferencev1.ResolveModelRequest, _ ...grpc.CallOption) (*inferencev1.Model, error) {
	if strings.HasPrefix(req.GetModel(), "takesall/") {
		return &inferencev1.Model{Name: req.GetModel()}, nil
	}
	return &inferencev1.Model{
		Name: req.GetModel(), Unsupported: []string{"generation.seed", "temperature", "generation.tool_choice", "generation.new"},
	}, nil
}

func TestAnAgentSetsNothingThatItsModelRefuses(t *testing.T) {
	k := newKit(t, options{models: seedless{}})
	for _, row := range []struct {
		agent *sessionsv1.Agent
		wrong []string
	}{
		{agent: &sessionsv1.Agent{Generation: &turnv1.Generation{Seed: new(int32(1))}}, wrong: []string{"agent.generation.seed"}},
		{agent: &sessionsv1.Agent{Temperature: new(0.0)}, wrong: []string{"agent.temperature"}},
		{agent: &sessionsv1.Agent{Model: "takesall/x", Temperature: new(0.0)}},
		{
			agent: &sessionsv1.Agent{Model: "takesall/x", Fallbacks: []string{"y/z"}, Temperature: new(0.0)},
			wrong: []string{"agent.temperature"},
		},
		{
			agent: &sessionsv1.Agent{
				Model: "takesall/x", Strategy: turnv1.Strategy_STRATEGY_REACT_TEXT, Generation: &turnv1.Generation{ToolChoice: "required"},
			},
			wrong: []string{"agent.generation.tool_choice"},
		},
		{agent: &sessionsv1.Agent{Generation: &turnv1.Generation{ToolChoice: "required"}}, wrong: []string{"agent.generation.tool_choice"}},
		{agent: &sessionsv1.Agent{Generation: &turnv1.Generation{ToolChoice: "none", Stop: []string{"END"}}}},
		{agent: &sessionsv1.Agent{Model: "x/${params.model}", Temperature: new(0.0), ParamsSchema: params(t, map[string]any{
			"type": "object", "properties": map[string]any{"model": map[string]any{"type": "string"}},
		})}},
		{agent: &sessionsv1.Agent{Generation: &turnv1.Generation{ReasoningEffort: "much"}}, wrong: []string{"agent.generation.reasoning_effort"}},
	} {
		row.agent.Id = "a" // an agent that is accepted is the last with its id
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: row.agent})
		if row.wrong != nil {
			wantFault(t, err, "invalid_argument", row.wrong...)
			continue
		}
		must(t, err)
		_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "a"})
		must(t, err)
	}
}

func TestOutputSchemas(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		schema := params(t, map[string]any{"type": "object", "title": "of the agent"})
		for _, wrong := range []*sessionsv1.Agent{
			{OutputSchema: params(t, map[string]any{"type": "string"})},
			{OutputSchema: params(t, map[string]any{"type": "object", "properties": 1})},
			{OutputSchema: params(t, map[string]any{"type": "object", "$ref": "https://example.com/schema"})},
			{OutputSchema: schema, Strategy: turnv1.Strategy_STRATEGY_REACT_TEXT},
			{OutputSchema: schema, Executor: &sessionsv1.Executor{Kind: "http", Url: "https://example.com/"}},
		} {
			wrong.Id = "a"
			_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: wrong})
			wantFault(t, err, "invalid_argument", "agent.output_schema")
		}
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "a", OutputSchema: schema}})
		must(t, err)
		session, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "a"})
		must(t, err)
		title := func(turn *sessionsv1.Turn) string {
			t.Helper()
			loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
			must(t, err)
			return loaded.GetAgent().GetOutputSchema().GetFields()["title"].GetStringValue()
		}
		if got := title(k.turn(session.GetId(), "hello")); got != "of the agent" {
			t.Errorf("the schema is that %s", got)
		}
		req := &sessionsv1.CreateTurnRequest{
			SessionId: session.GetId(), Input: "hello", OutputSchema: params(t, map[string]any{"type": "object", "title": "of the turn"}),
		}
		turn, err := k.turns.CreateTurn(t.Context(), req)
		must(t, err)
		if got := title(turn); got != "of the turn" {
			t.Errorf("the schema is that %s", got)
		}
		req.OutputSchema = params(t, map[string]any{"type": "array"})
		_, err = k.turns.CreateTurn(t.Context(), req)
		wantFault(t, err, "invalid_argument", "output_schema")
	})
}

// TestAModelWithoutAPriceIsRefusedUnderABudgetOfMoney, by its name, and the turn fails with what to do.
func TestAModelWithoutAPriceIsRefusedUnderABudgetOfMoney(t *testing.T) {
	fallback := &turnv1.Surface{Unpriced: true, Price: &turnv1.Price{}, Fallbacks: []*turnv1.Target{
		{Model: "test/priced", Price: &turnv1.Price{}}, {Model: "test/spare"},
	}}
	t.Run("the only one", func(t *testing.T) { unpricedModel(t, &turnv1.Surface{Unpriced: true}, "test/model") })
	t.Run("a fallback", func(t *testing.T) { unpricedModel(t, fallback, "test/spare") })
}

func unpricedModel(t *testing.T, surface *turnv1.Surface, named string) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(surface)
		w.used("infer-1", w.lease("infer-1"), 10, 10, nil)
		k.budget(&sessionsv1.Budget{Scope: "tenant", MaxTokens: 100_000})
		w.used("infer-2", w.lease("infer-2"), 10, 10, nil)
		k.budget(&sessionsv1.Budget{Scope: "tenant", MaxCost: "5"})
		got, err := w.claim("infer-3")
		must(t, err)
		e := got.GetDone().GetError()
		if e.GetCode() != "model_unpriced" || !strings.Contains(e.GetMessage(), named+" has no price") ||
			!strings.Contains(e.GetMessage(), "inference.prices") {
			t.Errorf("claim %v", got)
		}
	})
}
