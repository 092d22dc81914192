package registry_test

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestDecisionsAreDelivered makes calls with effects: policy may lose the decisions on them, so that the ledger keeps each until policy has
// accepted it, whatever becomes of the call, and another replica delivers what a killed one has left.
func TestDecisionsAreDelivered(t *testing.T) {
	t.Run("on SQLite", func(t *testing.T) { decisionsAreDelivered(t, newWorld(t)) })
	t.Run("on PostgreSQL", func(t *testing.T) { decisionsAreDelivered(t, newWorldOn(t, tables.Postgres(t))) })
}

func decisionsAreDelivered(t *testing.T, w *world) {
	one := w.start(config())
	one.notes()
	has := func(id string) func() bool {
		return func() bool {
			w.policy.mu.Lock()
			defer w.policy.mu.Unlock()
			return slices.Contains(w.policy.recorded, id)
		}
	}
	done := one.call(t.Context(), one.request("notes__send", "key-1"))
	if done.err != nil || done.decided.GetDecisionId() == "" {
		t.Fatalf("call: %+v", done)
	}
	wrong := one.request("notes__send", "key-2")
	wrong.ArgumentsJson = `{"text":1}`
	refused := one.call(t.Context(), wrong)
	if refused.completed.GetCode() != "invalid_tool_arguments" || !has(refused.decided.GetDecisionId())() {
		t.Errorf("a call without a row: %+v", refused)
	}
	testpoll.Until(t, "the decision is delivered", has(done.decided.GetDecisionId()))
	w.policy.set(func() { w.policy.recorded = nil })
	_, err := one.calls.ForgetTurns(t.Context(), &registryv1.ForgetTurnsRequest{Tenant: "default", TurnIds: []string{"trn_1"}})
	if err != nil {
		t.Fatal(err)
	}
	if rows := one.executions(); len(rows) != 1 || rows[0].GetTurnId() != "" || enum.Name(rows[0].GetState()) != "done" {
		t.Errorf("after the turn is forgotten: %v", rows)
	}
	killed := w.asleep(config())
	last := killed.call(t.Context(), killed.request("notes__send", "key-3"))
	testpoll.Until(t, "another replica delivers", has(last.decided.GetDecisionId()))
}

// TestADecisionThatPolicyCannotRead does not hold up those after it.
func TestADecisionThatPolicyCannotRead(t *testing.T) {
	w := newWorld(t)
	killed := w.asleep(config())
	killed.notes()
	bad := killed.call(t.Context(), killed.request("notes__send", "key-1"))
	good := killed.call(t.Context(), killed.request("notes__send", "key-2"))
	if bad.err != nil || good.err != nil {
		t.Fatal(bad.err, good.err)
	}
	w.policy.set(func() { w.policy.unreadable = bad.decided.GetDecisionId() })
	other := w.start(config())
	testpoll.Until(t, "the other decision is delivered", func() bool {
		w.policy.mu.Lock()
		defer w.policy.mu.Unlock()
		return slices.Contains(w.policy.recorded, good.decided.GetDecisionId())
	})
	forget := &registryv1.ForgetTurnsRequest{Tenant: "default", TurnIds: []string{"trn_1"}}
	testpoll.Until(t, "no decision is left to deliver", func() bool {
		resp, err := other.calls.ForgetTurns(t.Context(), forget)
		return err == nil && resp.GetOpen() == 0
	})
}
