package sessions_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestContextKeepsCallsAndResultsTogether(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session()
	failed := k.turn(ses.GetId(), "first")
	w := k.worker(failed)
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{
		{CallId: "c1", Tool: "calc__add", ArgumentsJson: "{}"}, {CallId: "c2", Tool: "calc__add", ArgumentsJson: "{}"},
	}}, 0)
	w.result("tool-1.2", "c2", "second result")
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
	turn := k.turn(ses.GetId(), "again")
	k.turn(ses.GetId(), "later")
	w = k.worker(turn)
	w.begin()
	got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if s := said(got); s != "first|calls|not executed: the turn ended before this call|second result|again|" || got.GetTruncated() {
		t.Errorf("context %s", s)
	}
	if r := got.GetMessages()[2].GetToolResult(); !r.GetIsError() || r.GetCallId() != "c1" {
		t.Errorf("made result %v", r)
	}
}

func TestContextIsCutAtItsBound(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session()
	long := strings.Repeat("x", 2000)
	for range 6 {
		k.worker(k.turn(ses.GetId(), long)).run(long)
	}
	turn := k.turn(ses.GetId(), "now")
	w := k.worker(turn)
	w.begin()
	get := func(limit int32) *executionv1.GetContextResponse {
		t.Helper()
		got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId(), MaxBytes: limit})
		must(t, err)
		return got
	}
	if got := get(0); len(got.GetMessages()) != 25 || got.GetTruncated() {
		t.Errorf("%d messages, truncated %v", len(got.GetMessages()), got.GetTruncated())
	}
	// The cut falls into a turn; the context begins with the next one's input.
	got := get(7500)
	if n := len(got.GetMessages()); n != 5 || !got.GetTruncated() || got.GetMessages()[0].GetRole() != turnv1.Role_ROLE_USER {
		t.Errorf("%d messages, truncated %v: %s", n, got.GetTruncated(), got.GetMessages()[0].GetRole())
	}
	// The cut falls into this turn; its input stays.
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{
		Content: executiontest.Text(long), ToolCalls: []*turnv1.ToolCall{{CallId: "c1", Tool: "t"}},
	}, 0)
	w.result("tool-1.1", "c1", long)
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c2", Tool: "t"}}}, 0)
	w.result("tool-2.1", "c2", "short")
	if s := said(get(3000)); s != "now|calls|short|" {
		t.Errorf("context %s", s)
	}
	if s := said(get(1)); s != "now|calls|short|" {
		t.Errorf("smallest context %s", s)
	}
}

func TestWhoRunsATurnIsGivenItsContext(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
		Id:       "planner",
		Strategy: turnv1.Strategy_STRATEGY_PLAN,
	}})
	must(t, err)
	load := func(turn *sessionsv1.Turn, with bool) *executionv1.GetContextResponse {
		t.Helper()
		got, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId(), WithContext: with})
		must(t, err)
		return got.GetContext()
	}
	ses := k.session()
	k.worker(k.turn(ses.GetId(), "first")).run("answer")
	turn := k.turn(ses.GetId(), "again")
	want, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if got := load(turn, true); !proto.Equal(got, want) || len(got.GetMessages()) == 0 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := load(turn, false); got != nil {
		t.Errorf("not asked for: %v", got)
	}
	if got := load(k.turn(ses.GetId(), "later"), true); got != nil {
		t.Errorf("what is before it is not known yet: %v", got)
	}
	k.worker(turn).begin()
	if got := load(turn, true); got != nil {
		t.Errorf("a step is done: %v", got)
	}
	planned, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "planner"})
	must(t, err)
	if got := load(k.turn(planned.GetId(), "plan"), true); got != nil {
		t.Errorf("its first step is no model step: %v", got)
	}
}
