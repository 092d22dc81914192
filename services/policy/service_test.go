package policy_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

var _ rpc.Authorizer = (*decide.Authorizer)(nil)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func newService(t *testing.T, cfg policy.Config) *policy.Service {
	t.Helper()
	s, err := policy.New(cfg, depsOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func depsOf(t *testing.T) policy.Deps {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "policy.db"), Schema: "policy"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return policy.Deps{DB: db, Peers: policy.Peers{Groups: groups{}}, Log: slog.New(slog.DiscardHandler)}
}

func client(t *testing.T, cfg policy.Config) policyv1.PolicyServiceClient {
	t.Helper()
	s := newService(t, cfg)
	return policyv1.NewPolicyServiceClient(rpctest.Serve(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) }))
}

func TestDecisionsAreKept(t *testing.T) {
	c := client(t, rules())
	d, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{
		Principal: authn.User("bob", "reader"), Tool: "notes__delete", Source: "notes", Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE,
		ArgumentsHash: "ab", TurnId: "trn_1", CallId: "call_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	testwant.Equal(t, "decision: Allowed", d.GetAllowed(), false)
	testwant.Equal(t, "decision: Rule", d.GetRule(), "no-delete")
	testwant.Equal(t, "decision: Subject", d.GetSubject(), "bob")
	testwant.Equal(t, "decision: Name(d.Kind)", enum.Name(d.GetKind()), "tool")
	testwant.Equal(t, "decision: Resource", d.GetResource(), "notes__delete")
	got, err := c.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: d.GetId()})
	if err != nil || got.String() != d.String() {
		t.Errorf("GetDecision = %v, %v; want %v", got, err, d)
	}
	_, err = c.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_none"})
	if fault.CodeOf(err) != "not_found" {
		t.Errorf("unknown decision: %v", err)
	}
}

func TestListDecisionsPages(t *testing.T) {
	c := client(t, rules())
	for i := range 5 {
		if _, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{
			Principal: authn.Local(), Tool: []string{"a__b", "a__delete"}[i%2], TurnId: "trn_1",
		}); err != nil {
			t.Fatal(err)
		}
	}
	req := &policyv1.ListDecisionsRequest{PageSize: 2, TurnId: "trn_1"}
	seen := map[string]bool{}
	for {
		resp, err := c.ListDecisions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range resp.GetDecisions() {
			seen[d.GetId()] = true
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d decisions", len(seen))
	}
	denied, err := c.ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{DeniedOnly: true})
	if err != nil || len(denied.GetDecisions()) != 2 {
		t.Errorf("refusals: %v, %v", denied, err)
	}
	for name, bad := range map[string]*policyv1.ListDecisionsRequest{
		"a garbage token": {PageToken: "garbage"},
		"a negative size": {PageSize: -1},
		"the token of another list": {PageToken: testwant.Must(c.ListDecisions(t.Context(),
			&policyv1.ListDecisionsRequest{PageSize: 1})).GetNextPageToken(), DeniedOnly: true},
	} {
		if _, err := c.ListDecisions(t.Context(), bad); fault.From(err).Code != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilterToolsKeepsTheOrderAndRecordsNothing(t *testing.T) {
	c := client(t, rules())
	resp, err := c.FilterTools(t.Context(), &policyv1.FilterToolsRequest{
		Principal: authn.User("bob", "reader"), Tools: []string{"notes__z", "calc__x", "notes__delete", "notes__a"},
	})
	if err != nil || len(resp.GetTools()) != 2 || resp.GetTools()[0] != "notes__z" || resp.GetTools()[1] != "notes__a" {
		t.Errorf("FilterTools = %v, %v", resp, err)
	}
	if list := testwant.Must(c.ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{})); len(list.GetDecisions()) != 0 {
		t.Errorf("recorded: %v", list)
	}
}

func TestGetPermissionsSaysHowLong(t *testing.T) {
	cfg := rules()
	cfg.PermissionsMaxAge = 1500 * time.Millisecond
	resp, err := client(t, cfg).GetPermissions(t.Context(), &policyv1.GetPermissionsRequest{Principal: authn.User("bob", "reader")})
	if err != nil || resp.GetMaxAge().AsDuration() != 1500*time.Millisecond {
		t.Fatalf("%v, %v", resp, err)
	}
	if got := len(resp.GetPermissions()); got != 3 {
		t.Errorf("permissions %v", resp.GetPermissions())
	}
}

func TestDenialsAreMergedAndLimited(t *testing.T) {
	cfg := rules()
	cfg.DenialsPerSecond = 3
	c := client(t, cfg)
	ids := map[string]bool{}
	for range 50 {
		d, err := c.RecordDenial(t.Context(), &policyv1.RecordDenialRequest{
			Principal: authn.User("eve"), Permission: "registry.tools.list",
			Method: "/m",
		})
		if err != nil {
			t.Fatal(err)
		}
		ids[d.GetId()] = true
	}
	if len(ids) > 25 {
		t.Errorf("%d rows for 50 equal refusals", len(ids))
	}
	limited := 0
	for i := range 60 {
		_, err := c.RecordDenial(t.Context(), &policyv1.RecordDenialRequest{
			Principal: authn.User("eve"), Permission: "p" + string(rune('A'+i)),
			Method: "/m",
		})
		if fault.CodeOf(err) == "rate_limited" {
			limited++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if limited == 0 {
		t.Error("60 different refusals at once were all recorded")
	}
}

// TestDecisionsAboutRolesAreKept: access policies do not see roles of the mesh, so decisions about them have no principal to replay with.
func TestDecisionsAboutRolesAreKept(t *testing.T) {
	c := client(t, rules())
	for range 2 {
		decided, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Principal: authn.Service("worker"), Tool: "notes__list"})
		if err != nil || decided.GetAllowed() {
			t.Fatalf("decided %v, %v", decided, err)
		}
	}
	denied, err := c.RecordDenial(t.Context(), &policyv1.RecordDenialRequest{
		Principal: authn.Service("worker"), Permission: "registry.sources.create", Method: "/m",
	})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: denied.GetId()})
	if err != nil || kept.GetSubject() != "worker" || kept.GetResource() != "registry.sources.create" || kept.GetInputHash() != "" {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// TestOwnAuthorizer serves policy with its own authorizer: what rules deny is refused and recorded.
func TestOwnAuthorizer(t *testing.T) {
	s := newService(t, rules())
	conn := rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) },
		rpctest.WithAuthorizer(s.Authorizer()), rpctest.WithPrincipal(authn.User("eve")))
	_, err := policyv1.NewPolicyServiceClient(conn).ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{})
	if fault.CodeOf(err) != "permission_denied" {
		t.Fatalf("eve lists decisions: %v", err)
	}
	local := rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) }, rpctest.WithAuthorizer(s.Authorizer()))
	c := policyv1.NewPolicyServiceClient(local)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // recorded in the background
		list, err := c.ListDecisions(ctx, &policyv1.ListDecisionsRequest{DeniedOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.GetDecisions()) == 1 {
			if d := list.GetDecisions()[0]; enum.Name(d.GetKind()) != "permission" || d.GetResource() != "policy.decisions.list" ||
				d.GetSubject() != "eve" {
				t.Errorf("recorded %v", d)
			}
			return
		}
	}
}

func TestMissingParts(t *testing.T) {
	if _, err := policy.New(policy.DefaultConfig(), policy.Deps{}); err == nil {
		t.Error("no dependencies, no error")
	}
	if _, err := policy.New(policy.Config{DenialsPerSecond: -1},
		policy.Deps{DB: &sqldb.DB{}, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a negative rate is accepted")
	}
}
