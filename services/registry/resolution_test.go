package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

const (
	wasDone = turnv1.Verdict_VERDICT_ANSWERED
	notDone = turnv1.Verdict_VERDICT_NOT_DONE
	givenUp = turnv1.Verdict_VERDICT_GIVEN_UP
)

// says returns a copy of a request with a resolution.
func says(req *registryv1.CallToolRequest, id string, verdict turnv1.Verdict) *registryv1.CallToolRequest {
	return with(req, func(req *registryv1.CallToolRequest) {
		req.Resolution = &registryv1.Resolution{Id: id, Verdict: verdict, Subject: "alice", Comment: "I looked"}
		if verdict == wasDone {
			req.Resolution.Result = &turnv1.ToolResult{Content: answer("it is there").GetContent()}
		}
	})
}

// lost kills a registry during a ONCE call, and returns another one that finds it unresolved.
func lost(t *testing.T, w *world) (*replica, *registryv1.CallToolRequest) {
	dead := w.asleep(config())
	dead.notes()
	release := make(chan struct{})
	w.bridge.set(func() { w.bridge.call = hang(release) })
	req := dead.waiting("notes__send", "k")
	gone := dead.begin(t.Context(), req)
	t.Cleanup(func() {
		close(release)
		<-gone
	})
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	alive := w.start(config())
	if s := alive.call(t.Context(), req); !s.completed.GetUnresolved() {
		t.Fatalf("story %+v", s)
	}
	return alive, req
}

func TestSomebodySaysWhatBecameOfACall(t *testing.T) {
	for _, row := range []struct {
		name    string
		verdict turnv1.Verdict
		text    string
		isError bool
		state   string
		said    string
		sends   int
	}{
		{"it was done", wasDone, "it is there", false, "done", "done", 1},
		{"it was not", notDone, "ok", false, "done", "not_done", 2},
		{"nobody knows", givenUp, "could not be found out", true, "unresolved", "given_up", 1},
		{"nobody said so in time", turnv1.Verdict_VERDICT_EXPIRED, "could not be found out", true, "unresolved", "given_up", 1},
	} {
		test := func(t *testing.T, w *world) {
			r, req := lost(t, w)
			for i := range 2 { // the worker may die before it records the answer
				s := r.call(t.Context(), says(req, "apr_1", row.verdict))
				if s.err != nil || !strings.Contains(s.text(), row.text) || s.completed.GetResult().GetIsError() != row.isError ||
					s.completed.GetUnresolved() {
					t.Errorf("round %d: %+v %q", i, s, s.text())
				}
				got := r.row("k")
				if enum.Name(got.GetState()) != row.state || got.GetResolution() != row.said || got.GetResolvedBy() != "alice" ||
					got.GetResolutionComment() != "I looked" || got.GetResolveTime() == nil {
					t.Errorf("round %d: row %v", i, got)
				}
				if n := len(w.bridge.seen()); n != row.sends {
					t.Errorf("round %d: sent %d times", i, n)
				}
			}
			for _, sent := range w.bridge.seen() {
				if sent.GetMeta()["windlass/idempotency_key"] != "k" {
					t.Errorf("another key: %v", sent.GetMeta())
				}
			}
		}
		t.Run(row.name, func(t *testing.T) { test(t, newWorld(t)) })
		t.Run(row.name+", on PostgreSQL", func(t *testing.T) { test(t, newWorldOn(t, tables.Postgres(t))) })
	}
}

// TestNotDoneIsUsedOnce: the call that runs again after a resolution is lost again.
func TestNotDoneIsUsedOnce(t *testing.T) {
	w := newWorld(t)
	r, req := lost(t, w)
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return nil, outcomeUnknown()
		}
	})
	for range 2 {
		if s := r.call(t.Context(), says(req, "apr_1", notDone)); !s.completed.GetUnresolved() {
			t.Errorf("lost again: %+v", s)
		}
	}
	if n := len(w.bridge.seen()); n != 2 {
		t.Errorf("sent %d times", n)
	}
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	if s := r.call(t.Context(), says(req, "apr_2", notDone)); s.text() != "ok" || len(w.bridge.seen()) != 3 {
		t.Errorf("second resolution: %+v", s)
	}
}

// TestResolutionOfAKnownCallIsIgnored: a resolution of a call with a known outcome is ignored.
func TestResolutionOfAKnownCallIsIgnored(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	done, failed := r.waiting("notes__send", "done"), r.waiting("notes__send", "failed")
	r.call(t.Context(), done)
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return nil, unreachable()
		}
	})
	r.call(t.Context(), failed)
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	for _, verdict := range []turnv1.Verdict{wasDone, notDone, givenUp} {
		if s := r.call(t.Context(), says(done, "apr_1", verdict)); s.text() != "ok" || !s.completed.GetCached() {
			t.Errorf("%s of a call that is done: %+v", verdict, s)
		}
	}
	for _, verdict := range []turnv1.Verdict{wasDone, givenUp} {
		if s := r.call(t.Context(), says(failed, "apr_1", verdict)); s.completed.GetCode() != "tool_unavailable" ||
			!strings.Contains(s.text(), "did not run") {
			t.Errorf("%s of a call that did not run: %+v", verdict, s)
		}
	}
	if n := len(w.bridge.seen()); n != 1+3 { // the unreachable server was tried three times
		t.Errorf("sent %d times", n)
	}
}

// TestApprovalOutlivesACrash: a call that runs again because it was not done needs no second approval unless the tool changed.
func TestApprovalOutlivesACrash(t *testing.T) {
	w := newWorld(t)
	dead := w.asleep(config())
	dead.notes()
	w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
	req := dead.waiting("notes__send", "k")
	given := with(req, func(*registryv1.CallToolRequest) {})
	given.Approved = leave(dead.call(t.Context(), req), "apr_1")
	release := make(chan struct{})
	w.bridge.set(func() { w.bridge.call = hang(release) })
	gone := dead.begin(t.Context(), given)
	defer func() {
		close(release)
		<-gone
	}()
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	alive := w.start(config())
	if s := alive.call(t.Context(), given); !s.completed.GetUnresolved() {
		t.Fatalf("story %+v", s)
	}
	if s := alive.call(t.Context(), says(req, "apr_2", notDone)); s.text() != "ok" {
		t.Errorf("story %+v", s)
	}
	if row := alive.row("k"); row.GetApprovalId() != "apr_1" || row.GetResolution() != "not_done" {
		t.Errorf("row %v", row)
	}
}

// TestAForkIsAnotherCall: the same call in a fork of its session has its own key, so it neither adopts nor repeats the other.
func TestAForkIsAnotherCall(t *testing.T) {
	w := newWorld(t)
	r, req := lost(t, w)
	fork := with(req, func(req *registryv1.CallToolRequest) {
		req.Key, req.TurnId, req.SessionId = "k of the fork", "trn_2", "ses_2"
	})
	if s := r.call(t.Context(), fork); s.text() != "ok" || s.completed.GetCached() {
		t.Errorf("story %+v", s)
	}
	if s := r.call(t.Context(), req); !s.completed.GetUnresolved() {
		t.Errorf("the first: %+v", s)
	}
}
