package grant_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/testmain"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// policy notes what it is asked for.
type policy struct {
	mu      sync.Mutex
	created []*policyv1.CreateGrantRequest
	ended   []string
	fail    error
}

func (p *policy) CreateGrant(
	_ context.Context, req *policyv1.CreateGrantRequest, _ ...grpc.CallOption,
) (*policyv1.CreateGrantResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created = append(p.created, req)
	return &policyv1.CreateGrantResponse{}, p.fail
}

func (p *policy) EndGrants(_ context.Context, req *policyv1.EndGrantsRequest, _ ...grpc.CallOption) (*policyv1.EndGrantsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return nil, p.fail
	}
	p.ended = append(p.ended, req.GetTurnIds()...)
	return &policyv1.EndGrantsResponse{}, nil
}

var alice = &policyv1.Principal{
	Tenant: authn.DefaultTenant, Subject: "corp:alice", Issuer: "corp", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER,
}

// world is a kit whose turns have grants.
type world struct {
	*sessionstest.Kit
	policy *policy
	grants *grant.Service
}

func newWorld(t *testing.T) *world {
	w := &world{policy: &policy{}}
	w.Kit = sessionstest.New(t, sessionstest.Config{Grants: func(s *store.Store) *grant.Service {
		w.grants = grant.New(grant.Deps{Store: s, Policy: w.policy, Issuers: []string{"corp"}, Log: slog.New(slog.DiscardHandler)})
		return w.grants
	}})
	return w
}

// as returns a context of a principal with a token.
func (w *world) as(p *policyv1.Principal) context.Context {
	return callertoken.With(authn.With(w.Ctx(), p), []byte("sealed"))
}

// session opens a session of a principal.
func (w *world) session(ctx context.Context) store.Session {
	w.Helper()
	if _, err := w.Agents.Get(w.Ctx(), sessionstest.Assistant, 0); err != nil {
		w.Agent(sessionstest.Assistant, agentspec.Spec{Agents: []string{"help*"}})
	}
	ses, err := w.Sessions.Create(ctx, session.Spec{AgentID: sessionstest.Assistant}, store.Once{})
	w.Must(err)
	return ses
}

func (w *world) start(ctx context.Context) store.Turn {
	w.Helper()
	v, err := w.Turns.Create(ctx, turn.Create{SessionID: w.session(ctx).ID, Text: "hello"})
	w.Must(err)
	return v.Turn
}

func TestATurnHasAGrantUntilItEnds(t *testing.T) {
	w := newWorld(t)
	own := w.start(w.as(alice))
	if len(w.policy.created) != 1 {
		t.Fatalf("created: %v", w.policy.created)
	}
	got := w.policy.created[0]
	if got.GetTurnId() != own.ID || got.GetPrincipal().GetSubject() != "corp:alice" || string(got.GetToken()) != "sealed" {
		t.Errorf("created %v", got)
	}
	w.Must(w.grants.Sweep(w.Ctx()))
	if len(w.policy.ended) != 0 {
		t.Error("the grant of a turn that runs was ended")
	}
	w.policy.fail = errors.New("policy is away")
	w.Must(w.Turns.Cancel(w.as(alice), own, ""))
	<-w.grants.Woken()
	w.Must(w.grants.Sweep(w.Ctx()))
	w.policy.fail = nil
	w.Must(w.grants.Sweep(w.Ctx()))
	if len(w.policy.ended) != 0 {
		t.Error("policy is asked again at once")
	}
	w.Clock.Advance(5 * time.Second)
	w.Must(w.grants.Sweep(w.Ctx()))
	w.Clock.Advance(time.Hour)
	w.Must(w.grants.Sweep(w.Ctx()))
	if !slices.Equal(w.policy.ended, []string{own.ID}) {
		t.Errorf("ended: %q", w.policy.ended)
	}
}

func TestTurnsWithoutAGrant(t *testing.T) {
	w := newWorld(t)
	for name, ctx := range map[string]context.Context{
		"the local user":           w.Ctx(),
		"a user without a token":   authn.With(w.Ctx(), alice),
		"a user of another issuer": w.as(&policyv1.Principal{Tenant: authn.DefaultTenant, Subject: "else:bob", Issuer: "else"}),
	} {
		w.start(ctx)
		if len(w.policy.created) != 0 {
			t.Errorf("%s: %v", name, w.policy.created)
		}
	}
	w.policy.fail = errors.New("policy is away")
	ses := w.session(w.as(alice))
	if _, err := w.Turns.Create(w.as(alice), turn.Create{SessionID: ses.ID, Text: "hello"}); err == nil {
		t.Error("a turn starts that cannot act for its user")
	}
}

func TestASubAgentGetsAGrantLikeThatOfItsParent(t *testing.T) {
	w := newWorld(t)
	w.Agent("helper", agentspec.Spec{})
	parent := w.start(w.as(alice))
	w.Dispatch()
	w.Begin(parent, &turnv1.Surface{})
	c, err := w.Children.Create(w.Worker(), child.Create{
		ParentID: parent.ID, Step: "tool-1.1", Fence: w.Lease(parent, "tool-1.1").Fence, CallID: "c1", AgentID: "helper", Input: "help me",
	})
	w.Must(err)
	got := w.policy.created[len(w.policy.created)-1]
	if got.GetTurnId() != c.TurnID || got.GetParentTurnId() != parent.ID || got.GetPrincipal().GetSubject() != "corp:alice" ||
		got.GetToken() != nil {
		t.Errorf("created %v", got)
	}
}
