package sessions_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// A turn is taken up where its model failed.
func TestARerunFromAModelStepThatFailed(t *testing.T) {
	k := newKit(t, options{})
	of := k.newTurn("one")
	w := k.worker(of)
	w.begin()
	w.asked("infer-1", "c1", `{"n":"a"}`)
	w.result("tool-1.0", "c1", "a1")
	w.commit("infer-2", w.lease("infer-2"), func(r *executionv1.CommitStepRequest) {
		r.Outcome.Error = &turnv1.TurnError{Code: "model_rejected", Message: "no"}
	})
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "infer-2", Model: "other/model"})
	if s := k.contextOf(turn); s != "one|calls|a1|" {
		t.Errorf("context %s", s)
	}
	again := k.worker(turn)
	again.begin()
	again.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if got.GetOutput() != "" { // what was taken over is not its own answer
		t.Errorf("output %q", got.GetOutput())
	}
}

// Input that came while the turn ran is taken over, and is not taken for input of the re-run.
func TestARerunTakesSteeredInputOver(t *testing.T) {
	k := newKit(t, options{})
	of := k.newTurn("one")
	w := k.worker(of)
	w.begin()
	_, err := k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: of.GetId(), Input: "more"})
	must(t, err)
	w.asked("infer-1", "c1", `{"n":"a"}`)
	w.result("tool-1.0", "c1", "a1")
	l := w.lease("infer-2")
	w.commit("infer-2", l, func(r *executionv1.CommitStepRequest) {
		m := &turnv1.Message{Id: l.GetMessageId(), Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("done")}
		r.Messages, r.Outcome.MessageId, r.Outcome.Inputs = []*turnv1.Message{m}, m.GetId(), 1
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}}
	})
	w.commit("finish", w.lease("finish"), func(r *executionv1.CommitStepRequest) {
		r.Ending, r.Inputs = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}, 1
	})
	before := k.contextOf(of)

	turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "infer-2"})
	got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if s := said(got); s+"done|" != before || got.GetInputs() != 0 {
		t.Errorf("context %s with %d inputs, of %s", s, got.GetInputs(), before)
	}
	again := k.worker(turn)
	again.begin()
	_, err = k.turns.SteerTurn(t.Context(), &sessionsv1.SteerTurnRequest{TurnId: turn.GetId(), Input: "and more"})
	must(t, err)
	got, err = k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if got.GetInputs() != 1 || said(got) == before {
		t.Errorf("context %s with %d inputs", said(got), got.GetInputs())
	}
}

// A recorded result may speak of an artifact: the new session has it too, also before the call is made again.
func TestARerunHasTheArtifactsOfItsRecordings(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		of := k.newTurn("read")
		k.worker(of).runWith("art_1", []byte("0123456789"))
		turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId()})
		live := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), Tools: "live"})
		again := k.worker(turn)
		again.begin()
		again.answer("infer-1", again.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "x1", Tool: "files__read"}}}, 0)
		_, err := k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: of.GetSessionId()})
		must(t, err)
		artifacts := func(session string) int {
			got, err := k.artifacts(authn.Local()).ListArtifacts(t.Context(), &sessionsv1.ListArtifactsRequest{SessionId: session})
			must(t, err)
			return len(got.GetArtifacts())
		}
		got, err := k.artifacts(authn.Local()).ReadArtifact(t.Context(), &sessionsv1.ReadArtifactRequest{ArtifactId: "art_1"})
		must(t, err)
		if string(got.GetData()) != "0123456789" || artifacts(turn.GetSessionId()) != 1 || artifacts(live.GetSessionId()) != 0 {
			t.Errorf("%q; %d and %d artifacts", got.GetData(), artifacts(turn.GetSessionId()), artifacts(live.GetSessionId()))
		}
	})
}

// plans is a turn that was at a plan of two steps, whose first one ended.
func (k *kit) plans() *sessionsv1.Turn {
	k.t.Helper()
	_, err := k.agents.CreateAgent(k.t.Context(),
		&sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "planner", Strategy: turnv1.Strategy_STRATEGY_PLAN}})
	must(k.t, err)
	ses, err := k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "planner"})
	must(k.t, err)
	turn := k.turn(ses.GetId(), "this and that")
	w := k.worker(turn)
	w.commit("begin", w.lease("begin"), func(r *executionv1.CommitStepRequest) {
		r.Outcome.Surface = &turnv1.Surface{Strategy: turnv1.Strategy_STRATEGY_PLAN}
	})
	write := func(key, id string, plan *turnv1.PlanUpdated) {
		w.commit(key, w.lease(key), func(r *executionv1.CommitStepRequest) {
			m := &turnv1.Message{Id: id, Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text(id)}
			r.Messages, r.Outcome.MessageId = []*turnv1.Message{m}, id
			r.Events = []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}}}
			if plan != nil {
				r.Events = append(r.Events, &turnv1.Event{Data: &turnv1.Event_PlanUpdated{PlanUpdated: plan}})
			}
		})
	}
	const pending, running, completed, failed = turnv1.PlanStepStatus_PLAN_STEP_STATUS_PENDING, turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING,
		turnv1.PlanStepStatus_PLAN_STEP_STATUS_COMPLETED, turnv1.PlanStepStatus_PLAN_STEP_STATUS_FAILED
	plan := func(first, second turnv1.PlanStepStatus, done string) *turnv1.PlanUpdated {
		return &turnv1.PlanUpdated{MessageId: "msg_plan", Steps: []*turnv1.PlanStep{
			{Id: 1, Title: "this", Status: first, MessageId: done}, {Id: 2, Title: "that", Status: second},
		}}
	}
	write("plan-1", "msg_plan", plan(running, pending, ""))
	write("infer-1", "msg_this", plan(completed, running, "msg_this"))
	write("infer-2", "msg_that", plan(completed, failed, "msg_this"))
	write("infer-3", "msg_end", nil)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	return turn
}

// A re-run from the middle of a plan begins with the plan as it stood there, which speaks of the messages in the new session.
func TestARerunGoesOnInAPlan(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		of := k.plans()
		for from, row := range map[string]struct{ context, states string }{
			"infer-2": {"this and that|msg_plan|msg_this|", "COMPLETED:msg_this RUNNING:"},
			"infer-3": {"this and that|msg_plan|msg_this|msg_that|", "COMPLETED:msg_this FAILED:"},
		} {
			turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: from})
			loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
			must(t, err)
			read, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
			must(t, err)
			r := loaded.GetRerun()
			said := func(id string) string { // what the message of the new session says
				for _, m := range read.GetMessages() {
					if m.GetId() == id && id != "" {
						return m.GetContent()[0].GetText()
					}
				}
				return ""
			}
			var states []string
			for _, s := range r.GetPlan().GetSteps() {
				states = append(states, strings.TrimPrefix(s.GetStatus().String(), "PLAN_STEP_STATUS_")+":"+said(s.GetMessageId()))
			}
			if got := strings.Join(states, " "); got != row.states || said(r.GetPlan().GetMessageId()) != "msg_plan" ||
				r.GetPlan().GetMessageId() == "msg_plan" ||
				r.GetPlans() != 1 || r.GetStrategy() != turnv1.Strategy_STRATEGY_PLAN {
				t.Errorf("%s: %s in %v", from, got, r)
			}
			if s := k.contextOf(turn); s != row.context {
				t.Errorf("%s: context %s", from, s)
			}
		}
		for id, strategy := range map[string]turnv1.Strategy{"other": turnv1.Strategy_STRATEGY_REACT, "router": turnv1.Strategy_STRATEGY_ROUTE} {
			_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
				Id: id, Strategy: strategy,
				Agents: []string{"assist*"},
			}})
			must(t, err)
			_, err = k.turns.RerunTurn(t.Context(), &sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "2", AgentId: id})
			wantFault(t, err, "invalid_argument", "from_step")
		}
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
			Id:       "auto",
			Strategy: turnv1.Strategy_STRATEGY_AUTO,
		}})
		must(t, err)
		loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{
			TurnId: k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), FromStep: "2", AgentId: "auto"}).GetId(),
		})
		must(t, err)
		if loaded.GetRerun().GetStrategy() != turnv1.Strategy_STRATEGY_PLAN {
			t.Errorf("with another agent: %v", loaded.GetRerun())
		}
	})
}
