package sessions_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

// eventClient returns a client that calls as p, nil = as the kit does.
func (k *kit) eventClient(p *policyv1.Principal) sessionsv1.EventServiceClient {
	if p == nil {
		return sessionsv1.NewEventServiceClient(k.conn)
	}
	return sessionsv1.NewEventServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(p)))
}

// listed returns the types without their ends of all events that p sees, oldest first.
func (k *kit) listed(p *policyv1.Principal, req *sessionsv1.ListEventsRequest) (types []string, events []*eventv1.CloudEvent) {
	k.t.Helper()
	client := k.eventClient(p)
	req.OldestFirst, req.PageSize = true, 2
	for {
		resp, err := client.ListEvents(k.t.Context(), req)
		must(k.t, err)
		for _, e := range resp.GetEvents() {
			types = append(types, strings.TrimSuffix(strings.TrimPrefix(e.GetType(), "dev.windlass."), ".v1"))
			events = append(events, e)
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			return types, events
		}
	}
}

func (k *kit) awaitEvents(n int) {
	k.t.Helper()
	admin := k.eventClient(authn.User("root", "admin"))
	testpoll.Until(k.t, "the events are visible", func() bool {
		resp, err := admin.ListEvents(k.t.Context(), &sessionsv1.ListEventsRequest{})
		must(k.t, err)
		return len(resp.GetEvents()) == n
	})
}

func testDomainEvents(t *testing.T, postgres bool) {
	// No workflow is started, so that the turn ends when it is cancelled.
	k := newKit(t, options{postgres: postgres, conns: 4, cfg: sessions.Config{StartDelay: time.Hour}})
	turn := k.newTurn("a secret")
	_, err := k.agents.UpdateAgent(t.Context(), &sessionsv1.UpdateAgentRequest{Agent: &sessionsv1.Agent{Id: "assistant", Description: "new"}})
	must(t, err)
	_, err = k.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "assistant"})
	must(t, err)
	k.awaitEvents(4)
	types, events := k.listed(nil, &sessionsv1.ListEventsRequest{})
	if !slices.Equal(types, []string{"agent.created", "agent.updated", "turn.finished", "agent.deleted"}) {
		t.Fatalf("events: %q", types)
	}
	e := events[1]
	testwant.Equal(t, "updated: Subject", e.GetSubject(), "assistant")
	testwant.Equal(t, "updated: Source", e.GetSource(), "/windlass/sessions")
	testwant.Equal(t, "updated: Specversion", e.GetSpecversion(), "1.0")
	testwant.Equal(t, `updated: Data.AsMap["revision"]`, e.GetData().AsMap()["revision"], 2.0)
	testwant.Equal(t, `updated: Data.AsMap["actor"]`, e.GetData().AsMap()["actor"], "local")
	data := events[2].GetData().AsMap()
	testwant.Equal(t, `finished: ["turn_id"]`, data["turn_id"], any(turn.GetId()))
	testwant.Equal(t, `finished: ["session_id"]`, data["session_id"], any(turn.GetSessionId()))
	testwant.Equal(t, `finished: ["status"]`, data["status"], "cancelled")
	testwant.Equal(t, `finished: ["agent_id"]`, data["agent_id"], "assistant")
	testwant.Equal(t, `finished: ["principal"]`, data["principal"], "local")
	if strings.Contains(events[2].String(), "secret") {
		t.Errorf("the event has text of the user: %v", events[2])
	}
	types, _ = k.listed(authn.User("mallory"), &sessionsv1.ListEventsRequest{})
	if slices.Contains(types, "turn.finished") || len(types) != 3 {
		t.Errorf("another user sees %q", types)
	}
	types, _ = k.listed(authn.User("root", "admin"), &sessionsv1.ListEventsRequest{Types: []string{"*.turn.*,*.source.*"}})
	if len(types) != 1 {
		t.Errorf("an administrator sees %q", types)
	}
	other := authn.User("eve", "admin")
	other.Tenant = "other"
	if types, _ := k.listed(other, &sessionsv1.ListEventsRequest{}); len(types) != 0 {
		t.Errorf("another tenant sees %q", types)
	}
	replica := newKit(t, options{db: k.db, bus: k.bus})
	stream, err := replica.eventClient(nil).WatchEvents(t.Context(), &sessionsv1.WatchEventsRequest{After: events[1].GetCursor()})
	must(t, err)
	for i, want := range []string{"", events[2].GetId(), events[3].GetId()} {
		m, err := stream.Recv()
		must(t, err)
		if m.GetEvent().GetId() != want || m.GetCursor() == "" {
			t.Errorf("message %d of the stream: %v, want %q", i, m, want)
		}
	}
	_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: turn.GetSessionId(), Permanent: true})
	must(t, err)
	if types, _ := k.listed(nil, &sessionsv1.ListEventsRequest{}); slices.Contains(types, "turn.finished") {
		t.Errorf("after the session was deleted: %q", types)
	}
	k.agent("next")
	m, err := stream.Recv()
	must(t, err)
	if m.GetEvent().GetSubject() != "next" {
		t.Errorf("the stream goes on with %v", m)
	}
}

func TestDomainEvents(t *testing.T)           { testDomainEvents(t, false) }
func TestDomainEventsOnPostgres(t *testing.T) { testDomainEvents(t, true) }

func TestRefusedRequestsForEvents(t *testing.T) {
	k := newKit(t, options{})
	client := k.eventClient(nil)
	bad := &timestamppb.Timestamp{Seconds: 1 << 60}
	for name, req := range map[string]*sessionsv1.ListEventsRequest{
		"a type that does not exist": {Types: []string{"dev.windlass.tool.call"}},
		"an empty type":              {Types: []string{"a,,b"}},
		"a damaged page token":       {PageToken: "x"},
		"a negative page size":       {PageSize: -1},
		"a time out of range":        {Since: bad},
		"another time out of range":  {Until: bad},
		"a subject with NUL":         {Subject: "a\x00"},
		"too many types":             {Types: slices.Repeat([]string{"*"}, 33)},
	} {
		if _, err := client.ListEvents(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, req := range map[string]*sessionsv1.WatchEventsRequest{
		"no cursor":                  {After: "1"},
		"a cursor ahead":             {After: "r0.s9.p0"},
		"a registry's cursor ahead":  {After: "r9.s0.p0"},
		"a type that does not exist": {Types: []string{"x"}},
		"a time out of range":        {Since: bad},
		"a huge cursor":              {After: strings.Repeat("r", 1<<10)},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.WatchEvents(ctx, req)
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
