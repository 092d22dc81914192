package registry_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// waiting returns a request of a turn that can wait for people.
func (r *replica) waiting(name, key string) *registryv1.CallToolRequest {
	req := r.request(name, key)
	req.CanWait = true
	return req
}

// with returns a modified copy of the request.
func with(req *registryv1.CallToolRequest, change func(*registryv1.CallToolRequest)) *registryv1.CallToolRequest {
	req = proto.CloneOf(req)
	change(req)
	return req
}

// leave returns evidence of the approval that a story asked for.
func leave(s story, id string) *registryv1.Approved {
	return &registryv1.Approved{ApprovalId: id, ArgumentsHash: s.approval.GetArgumentsHash(), DefinitionHash: s.approval.GetDefinitionHash()}
}

func TestACallWaitsForLeave(t *testing.T) {
	for _, name := range []string{"notes__read", "notes__put", "notes__send"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(config())
			r.notes()
			w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask", Quorum: 2} })
			req := r.waiting(name, "k")
			req.ApprovalRules = []*policyv1.ApprovalRule{{Name: "of the agent"}}
			asked := r.call(t.Context(), req)
			if asked.err != nil || asked.completed != nil || !asked.decided.GetAllowed() || asked.approval.GetRule().GetQuorum() != 2 ||
				asked.approval.GetDefinitionHash() != req.GetDefinitionHash() || asked.approval.GetVoid() {
				t.Fatalf("asked: %+v", asked)
			}
			if got := w.policy.requests()[0]; got.GetApprovalRules()[0].GetName() != "of the agent" ||
				got.GetArguments().GetFields()["text"].GetStringValue() != "hi" ||
				got.GetArgumentsHash() != asked.approval.GetArgumentsHash() || got.GetApprovalId() != "" ||
				got.GetEffect() != asked.approval.GetEffect() {
				t.Errorf("policy was asked %v", got)
			}
			if row := r.row("k"); row != nil || len(w.bridge.seen()) != 0 {
				t.Fatalf("before anybody gave leave: row %v, %d calls", row, len(w.bridge.seen()))
			}
			if again := r.call(t.Context(), req); again.approval == nil {
				t.Errorf("asked again: %+v", again)
			}
			given := with(req, func(req *registryv1.CallToolRequest) { req.Approved = leave(asked, "apr_1") })
			if s := r.call(t.Context(), given); s.text() != "ok" {
				t.Errorf("with leave: %+v", s)
			}
			if row := r.row("k"); row.GetApprovalId() != "apr_1" || enum.Name(row.GetState()) != "done" || row.GetAttempts() != 1 {
				t.Errorf("row %v", row)
			}
			if got := w.policy.requests(); got[len(got)-1].GetApprovalId() != "apr_1" {
				t.Errorf("policy was not told of the leave: %v", got[len(got)-1])
			}
			if s := r.call(t.Context(), given); s.text() != "ok" || !s.completed.GetCached() || len(w.bridge.seen()) != 1 {
				t.Errorf("again: %+v", s)
			}
		})
	}
}

// TestApprovalHoldsForOneCallOnly sends evidence for other calls.
func TestApprovalHoldsForOneCallOnly(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*registryv1.CallToolRequest)
	}{
		{"other arguments", func(req *registryv1.CallToolRequest) { req.ArgumentsJson = `{"text":"other"}` }},
		{"another definition", func(req *registryv1.CallToolRequest) { req.Approved.DefinitionHash = "other" }},
		{"no id", func(req *registryv1.CallToolRequest) { req.Approved.ApprovalId = "" }},
		{"no hashes", func(req *registryv1.CallToolRequest) { req.Approved = &registryv1.Approved{ApprovalId: "apr_1"} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(config())
			r.notes()
			w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
			req := r.waiting("notes__send", "k")
			req.Approved = leave(r.call(t.Context(), req), "apr_1")
			s := r.call(t.Context(), with(req, row.change))
			if s.approval == nil || !s.approval.GetVoid() || len(w.bridge.seen()) != 0 {
				t.Errorf("story %+v, %d calls", s, len(w.bridge.seen()))
			}
		})
	}
}

func TestLeaveIsNoPermission(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
	req := r.waiting("notes__send", "k")
	req.Approved = leave(r.call(t.Context(), req), "apr_1")
	w.policy.set(func() { w.policy.allow = nil })
	if s := r.call(t.Context(), req); s.completed.GetCode() != "permission_denied" || len(w.bridge.seen()) != 0 {
		t.Errorf("what was revoked meanwhile: %+v", s)
	}
	w.policy.set(func() { w.policy.allow = []string{"*"} })
	bad := with(req, func(req *registryv1.CallToolRequest) { req.ArgumentsJson, req.Approved, req.Key = `{}`, nil, "bad" })
	if s := r.call(t.Context(), bad); s.completed.GetCode() != "invalid_tool_arguments" {
		t.Errorf("nobody is asked about a call that cannot be made: %+v", s)
	}
}

func TestCallsThatCannotWait(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
	if s := r.call(t.Context(), r.request("notes__send", "k")); s.completed.GetCode() != "approval_required" ||
		!strings.Contains(s.text(), `rule "ask"`) {
		t.Errorf("a caller who cannot wait: %+v %q", s, s.text())
	}
	_, err := r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{
		Name:      "notes__send",
		Arguments: args(t, map[string]any{"text": "x"}),
	})
	if fault.CodeOf(err) != "approval_required" || !strings.Contains(fault.From(err).Todo, "agent") {
		t.Errorf("a direct call: %v", err)
	}
	w.policy.set(func() { w.policy.asks = nil })
	r.meshTools()
	_, err = r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{
		Name:      "mesh__ask_user",
		Arguments: args(t, map[string]any{"question": "why?"}),
	})
	if fault.CodeOf(err) != "input_required" {
		t.Errorf("a direct question: %v", err)
	}
	if len(w.bridge.seen()) != 0 {
		t.Error("it was called")
	}
}

// TestATurnsToolsMustNotChange: a server changes a tool's definition during a turn.
func TestATurnsToolsMustNotChange(t *testing.T) {
	const other = `{"type":"object","properties":{"text":{"type":"string"},"more":{"type":"string"}},"required":["text"]}`
	for _, row := range []struct {
		name, before, after string // effect classes
		schema              string // of the new definition; empty = as before
		asks                bool
		want                string // code of the result, or "approval"
	}{
		{"once, another description", "once", "once", "", false, "definition_changed"},
		{"idempotent, another description", "idempotent", "idempotent", "", false, "definition_changed"},
		{"read, another description", "read", "read", "", false, ""},
		{"read, another schema", "read", "read", other, false, "definition_changed"},
		{"once that calls itself harmless", "once", "read", "", false, "definition_changed"},
		{"read that became once", "read", "once", "", false, "definition_changed"},
		{"once, with leave", "once", "once", "", true, "approval"},
		{
			"once, with leave, and the arguments do not fit any more", "once", "once", `{"type":"object","required":["other"]}`, true,
			"definition_changed",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(config())
			src := r.notes()
			offer := func(tools ...*mcpbridgev1.Tool) {
				w.bridge.set(func() { w.bridge.tools["notes"] = tools })
				if _, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: src.GetId()}); err != nil {
					t.Fatal(err)
				}
			}
			offer(tool("x", row.before))
			req := r.waiting("notes__x", "k")
			changed := tool("x", row.after)
			changed.RawJson = append(changed.RawJson[:len(changed.RawJson)-1], `,"v":2}`...)
			if row.schema != "" {
				changed.InputSchemaJson = []byte(row.schema)
			}
			offer(changed)
			if row.asks {
				w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
			}
			s := r.call(t.Context(), req)
			if row.want != "approval" {
				if s.completed.GetCode() != row.want || (len(w.bridge.seen()) == 1) != (row.want == "") {
					t.Errorf("story %+v %q", s, s.text())
				}
				if got := w.policy.requests(); row.before == "once" && got[len(got)-1].GetEffect() != turnv1.EffectClass_EFFECT_CLASS_ONCE {
					t.Errorf("policy decided on %v", got[len(got)-1])
				}
				return
			}
			if s.approval == nil || s.approval.GetDefinitionHash() == req.GetDefinitionHash() {
				t.Fatalf("story %+v", s)
			}
			req.Approved = leave(s, "apr_1")
			if s := r.call(t.Context(), req); s.text() != "ok" {
				t.Errorf("approved as it is now: %+v %q", s, s.text())
			}
		})
	}
}

// TestApprovalReachesARunningCall: a caller with an approval joins one without.
func TestApprovalReachesARunningCall(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.policy.set(func() { w.policy.asks = &policyv1.ApprovalRule{Name: "ask"} })
	req := r.waiting("notes__send", "k")
	given := with(req, func(*registryv1.CallToolRequest) {})
	given.Approved = leave(r.call(t.Context(), req), "apr_1")
	for range 20 {
		done := make(chan story, 1)
		go func() { done <- r.call(context.WithoutCancel(t.Context()), req) }()
		if s := r.call(t.Context(), given); s.text() != "ok" {
			t.Fatalf("with leave: %+v", s)
		}
		<-done
	}
	if n := len(w.bridge.seen()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
