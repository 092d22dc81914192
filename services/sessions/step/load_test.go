package step_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestAnAgentLoadsWithTheLimitsOfItsTurn(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	l, err := k.Steps.Load(k.Worker(), own.ID, true)
	k.Must(err)
	if l.Agent.Spec.Limits.MaxSteps != 25 || l.Surface != nil || len(l.Context.Messages) != 1 || l.Input.Input != "hello" {
		t.Errorf("before it begins it is %+v", l)
	}
	k.Begin(own, &turnv1.Surface{MaxSteps: 7})
	l, err = k.Steps.Load(k.Worker(), own.ID, true)
	k.Must(err)
	if l.Surface.GetMaxSteps() != 7 || l.Context != nil || len(l.Outcomes) != 1 {
		t.Errorf("after it has begun it is %+v", l)
	}
	_, err = k.Steps.Load(k.Worker(), "trn_none", false)
	k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestAToolCallIsFoundInItsMessage(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	out := k.Answer(own, "infer-1", "", &turnv1.ToolCall{CallId: "c1", Tool: "calc__add", ArgumentsJson: "{}"})
	id := out.Outcome.GetMessageId()
	call, err := k.Steps.ToolCall(k.Ctx(), own.ID, id, "c1")
	k.Must(err)
	if call.GetTool() != "calc__add" {
		t.Errorf("got %v", call)
	}
	other := k.Begun("elsewhere")
	for _, row := range [][3]string{
		{own.ID, id, "c2"},
		{own.ID, "msg_none", "c1"},
		{own.ID, "\x00", "c1"},
		{other.ID, id, "c1"},
		{"trn_none", id, "c1"},
	} {
		_, err := k.Steps.ToolCall(k.Ctx(), row[0], row[1], row[2])
		k.WantFault(err, faultv1.Reason_REASON_NOT_FOUND)
	}
}

func TestAnExecutorsSessionIsThatOfTheSameExecutor(t *testing.T) {
	k := newKit(t)
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	attach := func(id string) error {
		_, err := k.Steps.Append(k.Worker(), held(own, "infer-1", l), []*turnv1.Event{{Data: &turnv1.Event_ExecutorAttached{
			ExecutorAttached: &turnv1.ExecutorAttached{ExecutorHash: "h1", ExecutorSessionId: id},
		}}})
		return err
	}
	k.WantFault(attach(strings.Repeat("x", 513)), invalid, "events")
	k.WantFault(attach("a\x00b"), invalid, "events")
	k.Must(attach("first"))
	k.Must(attach("second"))
	for hash, want := range map[string]string{"h1": "second", "h2": ""} {
		if got, err := k.Steps.ExecutorSession(k.Worker(), own, hash); err != nil || got != want {
			t.Errorf("executor %s has the session %q, %v", hash, got, err)
		}
	}
	if got, err := k.Steps.ExecutorSession(k.Worker(), store.Turn{Tenant: authn.DefaultTenant, SessionID: "ses_none"}, "h1"); err != nil ||
		got != "" {
		t.Errorf("no session has %q, %v", got, err)
	}
}
