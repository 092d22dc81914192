package rerun_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// models knows one model; away, it knows nothing.
type models struct{ away bool }

func (m models) ResolveModel(_ context.Context, req *inferencev1.ResolveModelRequest, _ ...grpc.CallOption) (*inferencev1.Model, error) {
	switch {
	case m.away:
		return nil, fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "inference is away")
	case req.GetModel() == "other/model":
		return &inferencev1.Model{Name: req.GetModel()}, nil
	}
	return nil, fault.New(codes.NotFound, faultv1.Reason_REASON_MODEL_UNKNOWN, "no model %q", req.GetModel())
}

// over runs a turn with one round of calls to its end.
func over(k *sessionstest.Kit, t store.Turn, answer string) store.Turn {
	k.Helper()
	k.Begin(t, &turnv1.Surface{})
	k.Answer(t, "infer-1", "", &turnv1.ToolCall{CallId: "c1", Tool: "calc__add", ArgumentsJson: `{"n":1}`})
	k.Commit(t, "tool-1.0", func(c *step.Commit) {
		c.Messages = []*turnv1.Message{{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: "c1", Tool: "calc__add"}}}
	})
	k.Answer(t, "infer-2", answer)
	k.Finish(t)
	return k.Read(t.ID)
}

func TestWhatCannotBeRunAgain(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxCopyBytes: 1000, Models: models{}})
	short := over(k, k.NewTurn("two"), "done")
	k.Agent("planner", agentspec.Spec{Strategy: turnv1.Strategy_STRATEGY_PLAN})
	ses := k.Session()
	long := k.Turn(ses, strings.Repeat("x", 1200))
	waiting := k.Turn(ses, "waits")
	k.Must(k.Turns.Cancel(k.Ctx(), waiting, ""))
	over(k, long, "y")
	after := over(k, k.Turn(ses, "after"), "z")
	active := k.Turn(ses, "active")
	const invalid = faultv1.Reason_REASON_INVALID_ARGUMENT
	for _, row := range []struct {
		name   string
		req    rerun.Request
		reason faultv1.Reason
		field  string
	}{
		{"an unknown turn", rerun.Request{TurnID: "trn_nobody"}, faultv1.Reason_REASON_NOT_FOUND, ""},
		{"an active turn", rerun.Request{TurnID: active.ID}, faultv1.Reason_REASON_TURN_ACTIVE, ""},
		{"a turn that never began", rerun.Request{TurnID: waiting.ID}, faultv1.Reason_REASON_FAILED_PRECONDITION, ""},
		{"a step it has not", rerun.Request{TurnID: short.ID, FromStep: "3"}, invalid, "from_step"},
		{"a step that is none", rerun.Request{TurnID: short.ID, FromStep: "tool-1.0"}, invalid, "from_step"},
		{"the middle of a plan", rerun.Request{TurnID: short.ID, FromStep: "2", AgentID: "planner"}, invalid, "from_step"},
		{
			"the failed step of a turn that did not fail",
			rerun.Request{TurnID: short.ID, FromStep: "failed"},
			faultv1.Reason_REASON_FAILED_PRECONDITION, "",
		},
		{"an unknown agent", rerun.Request{TurnID: short.ID, AgentID: "nobody"}, faultv1.Reason_REASON_NOT_FOUND, ""},
		{"a model that no provider has", rerun.Request{TurnID: short.ID, Model: "nobody/nothing"}, invalid, "model"},
		{"too much before it", rerun.Request{TurnID: after.ID}, faultv1.Reason_REASON_TOO_LARGE, ""},
	} {
		_, err := k.Reruns.Plan(k.Ctx(), row.req)
		t.Run(row.name, func(t *testing.T) {
			(&sessionstest.Kit{TB: t}).WantFault(err, row.reason, slices.DeleteFunc([]string{row.field}, func(f string) bool { return f == "" })...)
		})
	}
}

func TestWhatARerunTakesOver(t *testing.T) {
	for _, row := range []struct {
		name  string
		req   rerun.Request
		agent string
		taken int
	}{
		{"nothing from the start", rerun.Request{}, sessionstest.Assistant, 0},
		{"the calls before the step", rerun.Request{FromStep: "infer-2"}, sessionstest.Assistant, 2},
		{"another agent starts over", rerun.Request{AgentID: "planner"}, "planner", 0},
		{"another model", rerun.Request{Model: "other/model", FromStep: "2"}, sessionstest.Assistant, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := sessionstest.New(t, sessionstest.Config{Models: models{}})
			own := over(k, k.NewTurn("two"), "done")
			k.Agent("planner", agentspec.Spec{Strategy: turnv1.Strategy_STRATEGY_PLAN})
			row.req.TurnID = own.ID
			p, err := k.Reruns.Plan(k.Ctx(), row.req)
			k.Must(err)
			testwant.Equal(t, "agent: Copy.Session.AgentID", p.Copy.Session.AgentID, row.agent)
			testwant.Len(t, "agent: Copy.Turn", p.Copy.Turn, row.taken)
			testwant.Equal(t, "agent: int(p.Event.Messages)", int(p.Event.GetMessages()), row.taken)
			testwant.Equal(t, "agent: Event.OfTurn", p.Event.GetOfTurn(), own.ID)
			testwant.Equal(t, "agent: Input.Content[0].Text", p.Input.GetContent()[0].GetText(), "two")
		})
	}
}

func TestAModelIsNotRefusedWhileNobodyCanTell(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{Models: models{away: true}})
	own := over(k, k.NewTurn("two"), "done")
	p, err := k.Reruns.Plan(k.Ctx(), rerun.Request{TurnID: own.ID, Model: "nobody/nothing"})
	k.Must(err)
	if p.Event.GetModel() != "nobody/nothing" {
		t.Errorf("event %v", p.Event)
	}
}

func TestTheModelOfATurnIsNotForAnExecutor(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{Models: models{}})
	v, err := k.Turns.Create(k.Ctx(), turn.Create{SessionID: k.Session().ID, Text: "two", Model: "other/model"})
	k.Must(err)
	own := over(k, v.Turn, "done")
	k.Agent("hosted", agentspec.Spec{Executor: &agentspec.Executor{Kind: contract.ExecutorHTTP, URL: "http://127.0.0.1:9/"}})
	for agent, model := range map[string]string{"": "other/model", "hosted": ""} {
		v, err := k.Turns.Rerun(k.Ctx(), rerun.Request{TurnID: own.ID, AgentID: agent}, nil, store.Once{})
		k.Must(err)
		in, err := k.Access.Input(k.Ctx(), v.Turn)
		k.Must(err)
		testwant.Equal(t, "model with agent "+agent, in.Model, model)
	}
}
