package sessions_test

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

func TestComparison(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	a := k.twoRounds(k.session().GetId(), "two")
	b := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: a.GetId(), FromStep: "infer-2"})
	w := k.worker(b)
	w.begin()
	w.asked("infer-1", "x1", `{"n":"b"}`, "x2", `{"n":"c"}`)
	w.commit("tool-1.0", w.lease("tool-1.0"), func(r *executionv1.CommitStepRequest) {
		res := &turnv1.ToolResult{CallId: "x1", Tool: "calc__add", Content: executiontest.Text("b1")}
		r.Messages = []*turnv1.Message{{Role: turnv1.Role_ROLE_TOOL, ToolResult: res}}
		r.Events = []*turnv1.Event{{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{
			Result:   res,
			Recorded: true,
		}}}}
	})
	w.result("tool-1.1", "x2", "c1")
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("done\ntwice")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")

	got, err := k.turns.CompareTurns(t.Context(), &sessionsv1.CompareTurnsRequest{TurnId: a.GetId(), With: b.GetId()})
	must(t, err)
	if got.GetAnswer().GetSame() || got.GetAnswer().GetDiff() != "@@ -1,1 +1,2 @@\n done\n+twice\n" {
		t.Errorf("answer %v", got.GetAnswer())
	}
	testwant.Equal(t, "turns: A.Steps", got.GetA().GetSteps(), 8)
	testwant.Equal(t, "turns: B.Steps", got.GetB().GetSteps(), 6)
	testwant.Equal(t, "turns: B.RerunOf", got.GetB().GetRerunOf(), a.GetId())
	testwant.Equal(t, "turns: B.StopReason", got.GetB().GetStopReason(), "end")
	testwant.Equal(t, "turns: A.Usage.ModelCalls", got.GetA().GetUsage().GetModelCalls(), 3)
	testwant.Equal(t, "turns: B.Usage.ModelCalls", got.GetB().GetUsage().GetModelCalls(), 2)
	testwant.Equal(t, "turns: A.Model", got.GetA().GetModel(), "test/model")
	want := "c1 c1 true true true false|c2 c2 true true true false|c3 x1 true true false true| x2 false false false false|"
	if s := rows(got); s != want {
		t.Errorf("calls %s\nwant  %s", s, want)
	}
	same, err := k.turns.CompareTurns(t.Context(), &sessionsv1.CompareTurnsRequest{TurnId: a.GetId(), With: a.GetId()})
	must(t, err)
	if !same.GetAnswer().GetSame() || same.GetAnswer().GetDiff() != "" || len(same.GetTools()) != 3 {
		t.Errorf("the turn and itself: %v", same)
	}
	other := k.as(&policyv1.Principal{Tenant: authn.DefaultTenant, Subject: "somebody"})
	_, err = other.CompareTurns(t.Context(), &sessionsv1.CompareTurnsRequest{TurnId: a.GetId(), With: b.GetId()})
	wantFault(t, err, "not_found")
	_, err = other.RerunTurn(t.Context(), &sessionsv1.RerunTurnRequest{TurnId: a.GetId()})
	wantFault(t, err, "not_found")
}

func rows(c *sessionsv1.TurnComparison) string {
	var out string
	for _, r := range c.GetTools() {
		out += fmt.Sprintf("%s %s %v %v %v %v|", r.GetA().GetCallId(), r.GetB().GetCallId(), r.GetSameArguments(), r.GetSameResult(),
			r.GetB().GetTakenOver(), r.GetB().GetRecorded())
	}
	return out
}

// Calls of one tool with other arguments stand in one row, and the order of both turns stands.
func TestComparedCallsStandInOrder(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	turn := func(arguments ...string) string {
		turn := k.turn(k.session().GetId(), "x")
		w := k.worker(turn)
		w.begin()
		for i, a := range arguments {
			w.asked(stepkey.Infer(i+1), fmt.Sprintf("c%d", i), a)
		}
		return turn.GetId()
	}
	a, b := turn(`{"n":1}`, `{"n":2}`, `{"n":3}`), turn(`{"n":1}`, `{"n":4}`, `{"n":5}`, `{"n":6}`)
	got, err := k.turns.CompareTurns(t.Context(), &sessionsv1.CompareTurnsRequest{TurnId: a, With: b})
	must(t, err)
	want := "c0 c0 true true false false|c1 c1 false true false false|c2 c2 false true false false| c3 false false false false|"
	if s := rows(got); s != want {
		t.Errorf("calls %s\nwant  %s", s, want)
	}
	if got.GetA().GetDurationMs() != 0 || !got.GetTools()[0].GetA().GetOpen() {
		t.Errorf("a turn that goes on: %v", got)
	}
}
