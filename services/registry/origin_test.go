package registry_test

import (
	"context"
	"maps"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// sessions has the session ses_1 of user local, with a parent and a param, and its agent.
type sessions struct {
	away    bool
	noAgent bool
}

func (s *sessions) GetSession(ctx context.Context, req *sessionsv1.GetSessionRequest, _ ...grpc.CallOption) (*sessionsv1.Session, error) {
	if s.away {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "sessions is away")
	}
	if req.GetSessionId() != "ses_1" || authn.From(ctx).GetSubject() != "local" {
		return nil, fault.NotFound("session %q does not exist", req.GetSessionId())
	}
	params, err := structpb.NewStruct(map[string]any{"project": "p1"})
	return &sessionsv1.Session{Id: "ses_1", AgentId: "helper", ParentSessionId: "ses_0", Params: params}, err
}

func (s *sessions) GetAgent(_ context.Context, req *sessionsv1.GetAgentRequest, _ ...grpc.CallOption) (*sessionsv1.Agent, error) {
	if s.noAgent {
		return nil, fault.NotFound("agent %q does not exist", req.GetAgentId())
	}
	return &sessionsv1.Agent{Id: req.GetAgentId(), Labels: map[string]string{"capabilities": "files,web", "team": "a"}}, nil
}

// contextual creates the source "notes" with session_context.
func (r *replica) contextual() {
	r.w.t.Helper()
	src := r.notes()
	src.SessionContext = true
	if _, err := r.sources.UpdateSource(r.w.t.Context(), &registryv1.UpdateSourceRequest{Source: src}); err != nil {
		r.w.t.Fatal(err)
	}
}

func TestASourceGetsTheContextOfSessions(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.contextual()
	req := r.request("notes__send", "k1")
	req.RunnerId = "worker-1"
	if got := r.call(t.Context(), req); got.completed == nil || got.completed.GetCode() != "" {
		t.Fatalf("got %+v", got)
	}
	want := map[string]string{
		"windlass/agent_id": "helper", "windlass/parent_session_id": "ses_0", "windlass/params": `{"project":"p1"}`,
		"windlass/capabilities": "files,web", "windlass/runner_id": "worker-1",
		"windlass/idempotency_key": "k1", "windlass/turn_id": "trn_1", "windlass/session_id": "ses_1", "windlass/call_id": "call_1",
	}
	if got := w.bridge.seen()[0].GetMeta(); !maps.Equal(got, want) {
		t.Errorf("meta %v", got)
	}
	w.sessions.noAgent = true
	r.call(t.Context(), r.request("notes__send", "k2"))
	if got := w.bridge.seen()[1].GetMeta(); got["windlass/agent_id"] != "helper" || got["windlass/capabilities"] != "" {
		t.Errorf("meta without the agent: %v", got)
	}
	w.sessions.away = true
	got := r.call(t.Context(), r.request("notes__send", "k3"))
	if len(w.bridge.seen()) != 2 || got.completed.GetCode() == "" || got.completed.GetUnresolved() {
		t.Errorf("without the session nothing is sent: %+v", got.completed)
	}
}

func TestACallOfASession(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	run := func(session string) error {
		stream, err := r.tools.RunTool(t.Context(), &registryv1.RunToolRequest{
			Name: "notes__send", ArgumentsJson: []byte(`{"text":"hi"}`), IdempotencyKey: "of-" + session, SessionId: session,
		})
		for err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	if err := run("ses_1"); err.Error() != "EOF" {
		t.Fatal(err)
	}
	meta := w.bridge.seen()[0].GetMeta()
	if meta["windlass/session_id"] != "ses_1" || meta["windlass/agent_id"] != "" {
		t.Errorf("meta %v", meta)
	}
	if err := run("ses_other"); fault.From(err).Reason != faultv1.Reason_REASON_NOT_FOUND || len(w.bridge.seen()) != 1 {
		t.Errorf("as another session: %v", err)
	}
}
