package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	agenttools "github.com/windlass-dev/windlass/services/registry/agents"
)

// agentsFake is a sessions service whose agents answer with the message, or as they are told.
type agentsFake struct {
	mu       sync.Mutex
	ids      []string
	away     error
	lost     error // CreateTurn stores the turn, and then fails
	denied   error
	status   turnv1.TurnStatus
	waiting  []string
	byKey    map[string]*sessionsv1.Turn
	sessions map[string]*sessionsv1.Session
	by       []string // subjects of requests
}

func newAgents(ids ...string) *agentsFake {
	return &agentsFake{
		ids: ids, byKey: map[string]*sessionsv1.Turn{}, sessions: map[string]*sessionsv1.Session{},
		status: turnv1.TurnStatus_TURN_STATUS_COMPLETED,
	}
}

func (a *agentsFake) client() agenttools.Client {
	return agenttools.Client{Agents: a, Sessions: a, Turns: a}
}

func (a *agentsFake) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *agentsFake) ListAgents(ctx context.Context, _ *sessionsv1.ListAgentsRequest, _ ...grpc.CallOption,
) (*sessionsv1.ListAgentsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil || authn.From(ctx).GetSubject() != "registry" {
		return nil, a.away
	}
	out := &sessionsv1.ListAgentsResponse{}
	for _, id := range a.ids {
		out.Agents = append(out.Agents, &sessionsv1.Agent{Id: id, Description: "Does " + id + " work."})
	}
	return out, nil
}

func (a *agentsFake) CreateSession(ctx context.Context, r *sessionsv1.CreateSessionRequest, _ ...grpc.CallOption,
) (*sessionsv1.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.denied != nil {
		return nil, a.denied
	}
	a.by = append(a.by, authn.From(ctx).GetSubject())
	if a.sessions[r.GetIdempotencyKey()] == nil {
		s := &sessionsv1.Session{Id: fmt.Sprint("ses_", len(a.sessions)), AgentId: r.GetAgentId()}
		a.sessions[r.GetIdempotencyKey()], a.sessions[s.GetId()] = s, s
	}
	return a.sessions[r.GetIdempotencyKey()], nil
}

func (a *agentsFake) GetSession(_ context.Context, r *sessionsv1.GetSessionRequest, _ ...grpc.CallOption) (*sessionsv1.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[r.GetSessionId()]; s != nil {
		return s, nil
	}
	return nil, fault.NotFound("there is no session %q", r.GetSessionId())
}

func (a *agentsFake) CreateTurn(_ context.Context, r *sessionsv1.CreateTurnRequest, _ ...grpc.CallOption) (*sessionsv1.Turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[r.GetIdempotencyKey()] == nil {
		a.byKey[r.GetIdempotencyKey()] = &sessionsv1.Turn{
			Id: fmt.Sprint("trn_", len(a.byKey)), SessionId: r.GetSessionId(), AgentId: a.sessions[r.GetSessionId()].GetAgentId(),
			Status: a.status, Output: "you said " + r.GetInput(), WaitingFor: a.waiting,
		}
	}
	if err := a.lost; err != nil {
		a.lost = nil
		return nil, err
	}
	return a.byKey[r.GetIdempotencyKey()], nil
}

func (a *agentsFake) GetTurn(ctx context.Context, r *sessionsv1.GetTurnRequest, _ ...grpc.CallOption) (*sessionsv1.Turn, error) {
	waiting, cancel := context.WithTimeout(ctx, r.GetWait().AsDuration())
	defer cancel()
	<-waiting.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.byKey {
		if t.GetId() == r.GetTurnId() {
			return t, nil
		}
	}
	return nil, fault.NotFound("no turn")
}

// TestAgentsBecomeTools: the agents of a source, what of them changes at a sync, and the definition of an agent that a turn is given.
func TestAgentsBecomeTools(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("a", 63)
	w.agents.ids = []string{"critic", long, "writer"}
	r := w.start(config())
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "team", Kind: "agent"}})
	if err != nil || enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 3 {
		t.Fatalf("created: %v, %v", src, err)
	}
	list, err := r.tools.ListTools(t.Context(), &registryv1.ListToolsRequest{Source: "team"})
	if err != nil || len(list.GetTools()) != 3 {
		t.Fatalf("listed: %v, %v", list, err)
	}
	for _, tool := range list.GetTools() {
		if len(tool.GetName()) > 64 || tool.GetAgentId() != tool.GetOriginalName() ||
			tool.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT {
			t.Errorf("the tool is %v", tool)
		}
	}
	w.agents.set(func() { w.agents.ids = []string{"writer", "editor"} })
	diff, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "team"})
	if err != nil || strings.Join(diff.GetAdded(), " ") != "team__editor" || len(diff.GetRemoved()) != 2 || len(diff.GetChanged()) != 0 {
		t.Errorf("synced: %v, %v", diff, err)
	}
	src.Agents = []string{"wri*"}
	src, err = r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source: src, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"agents"}},
	})
	if err != nil || src.GetToolCount() != 1 || !slices.Equal(src.GetAgents(), []string{"wri*"}) {
		t.Errorf("updated: %v, %v", src, err)
	}
	w.agents.set(func() { w.agents.away = fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away") })
	if _, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "team"}); fault.CodeOf(err) != "tool_unavailable" {
		t.Errorf("without sessions: %v", err)
	}
}

// TestAnAgentIsCalled: a call from outside of turns is a turn on behalf of the caller, the same call again the same turn.
func TestAnAgentIsCalled(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	src := &registryv1.Source{Name: "team", Kind: "agent", CallTimeoutSeconds: 1}
	if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: src}); err != nil {
		t.Fatal(err)
	}
	direct := func(arguments, key string) story {
		req := r.request("team__writer", key)
		req.ArgumentsJson, req.TurnId, req.SessionId, req.CallId = arguments, "", "", ""
		return r.call(t.Context(), req)
	}
	fields := func(s story) map[string]any {
		return s.completed.GetResult().GetStructuredContent().GetStructValue().AsMap()
	}
	first := fields(direct(`{"message":"hi"}`, "k1"))
	if first["output"] != "you said hi" || first["status"] != "completed" || first["agent_id"] != "writer" || w.agents.by[0] != "local" {
		t.Fatalf("the answer is %v, asked by %q", first, w.agents.by)
	}
	session, _ := first["session_id"].(string)
	if next := fields(direct(`{"message":"go on","session_id":"`+session+`"}`, "k2")); next["session_id"] != session ||
		next["turn_id"] == first["turn_id"] {
		t.Errorf("the session goes on with %v", next)
	}
	w.agents.set(func() { w.agents.lost = fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the connection broke") })
	before := len(w.agents.byKey)
	if s := direct(`{"message":"again"}`, "k3"); fields(s)["output"] != "you said again" || len(w.agents.byKey) != before+1 ||
		r.row("k3").GetAttempts() != 2 {
		t.Errorf("an answer was lost: %+v, %d turns", s, len(w.agents.byKey)-before)
	}
	w.agents.set(func() { w.agents.status = turnv1.TurnStatus_TURN_STATUS_RUNNING })
	if s := direct(`{"message":"slow"}`, "k4"); fields(s)["status"] != "running" || fields(s)["turn_id"] == "" || s.completed.GetResult().GetIsError() {
		t.Errorf("it still works: %+v", s)
	}
	w.agents.set(func() { w.agents.waiting = []string{"apr_1"} })
	if s := direct(`{"message":"ask"}`, "k5"); !strings.Contains(s.text(), "A person must") {
		t.Errorf("it waits for people: %+v", s)
	}
	w.agents.set(func() { w.agents.status, w.agents.waiting = turnv1.TurnStatus_TURN_STATUS_FAILED, nil })
	if s := direct(`{"message":"fail"}`, "k6"); !s.completed.GetResult().GetIsError() || fields(s)["status"] != "failed" {
		t.Errorf("it failed: %+v", s)
	}
	for arguments, want := range map[string]string{
		`{"message":"x","session_id":"ses_none"}`: "no session", `{}`: "arguments/message", `{"message":"x","more":1}`: "more",
	} {
		if s := direct(arguments, arguments); !s.completed.GetResult().GetIsError() || !strings.Contains(s.text(), want) {
			t.Errorf("%s: %+v", arguments, s)
		}
	}
	w.agents.set(func() { w.agents.denied = fault.New(7, faultv1.Reason_REASON_PERMISSION_DENIED, "not you") })
	if s := direct(`{"message":"x"}`, "k7"); !s.completed.GetResult().GetIsError() || !strings.Contains(s.text(), "not you") {
		t.Errorf("without permission: %+v", s)
	}
	within := r.request("team__writer", "trn_1/tool-1.0")
	within.ArgumentsJson = `{"message":"x"}`
	if s := r.call(t.Context(), within); !strings.Contains(s.text(), "in a child session") || s.completed.GetUnresolved() {
		t.Errorf("a call within a turn that comes here: %+v", s)
	}
}

// TestAnAgentOfASourceIsChecked covers the calls within turns, which the worker makes itself: the checks are those of any tool.
func TestAnAgentOfASourceIsChecked(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "team", Kind: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(arguments string) *registryv1.CheckCallResponse {
		t.Helper()
		call := r.request("team__writer", "trn_1/tool-1.0")
		call.ArgumentsJson = arguments
		resp, err := r.calls.CheckCall(t.Context(), &registryv1.CheckCallRequest{
			Call: call, Definition: &registryv1.Tool{Source: "team", DefinitionHash: call.GetDefinitionHash()},
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if got := check(`{"message":"x"}`); got.GetRefused() != nil || !got.GetDecided().GetAllowed() {
		t.Errorf("allowed: %v", got)
	}
	if asked := w.policy.requests(); asked[len(asked)-1].GetSource() != "team" {
		t.Errorf("policy was asked %v", asked[len(asked)-1])
	}
	if got := check(`{"message":7}`).GetRefused(); got.GetCode() != "invalid_tool_arguments" {
		t.Errorf("wrong arguments: %v", got)
	}
	call := r.request("team__writer", "k")
	src.Disabled = true
	if _, err := r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source: src, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"disabled"}},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := r.calls.CheckCall(t.Context(), &registryv1.CheckCallRequest{
		Call: call, Definition: &registryv1.Tool{Source: "team", DefinitionHash: call.GetDefinitionHash()},
	})
	if err != nil || got.GetRefused().GetCode() != "not_found" {
		t.Errorf("switched off: %v, %v", got, err)
	}
	if r.row("trn_1/tool-1.0") != nil {
		t.Error("a check is in the ledger")
	}
}
