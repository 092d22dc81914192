package policy_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// forgetful is a store that leaves the revision out: it says the first one forever.
type forgetful struct{ store.Store }

func (forgetful) Revision(context.Context, string) (uint64, error) { return 1, nil }

// newDecider returns what decides in a service with the default configuration on a database.
func newDecider(t testing.TB, db *sqldb.DB, policies store.Store) *decide.Decider {
	t.Helper()
	cfg := policy.DefaultConfig()
	engine, err := decide.NewEngine(decide.Config{Rules: cfg.Rules, ServiceRules: cfg.ServiceRules})
	if err != nil {
		t.Fatal(err)
	}
	book, err := quota.NewBook(cfg.Quotas, db, policies)
	if err != nil {
		t.Fatal(err)
	}
	d, err := decide.NewDecider(cfg.PermissionsMaxAge, decide.Deps{
		Engine: engine, Policies: policies, Quotas: book, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestS15PolicyChangesHoldOnTheNextCall: two replicas have decided on a call and remember it; one changes the policy. With the revision the
// next decision of both has the change, and says so with a revision that is at least that of the change. Without it the other replica still
// allows the call.
func TestS15PolicyChangesHoldOnTheNextCall(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { changesHold(t, shared(t, "sqlite:"+filepath.Join(t.TempDir(), "policy.db"))) })
	t.Run("PostgreSQL", func(t *testing.T) {
		url := testpg.URL(t)
		one, two := open(t, url), open(t, url)
		changesHold(t, func() *sqldb.DB { one, two = two, one; return one })
	})
}

// shared has both replicas use one database handle: a SQLite file belongs to one process.
func shared(t *testing.T, url string) func() *sqldb.DB {
	t.Helper()
	db := open(t, url)
	return func() *sqldb.DB { return db }
}

func open(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func changesHold(t *testing.T, db func() *sqldb.DB) {
	t.Helper()
	replica := func() clients {
		s, err := policy.New(policy.DefaultConfig(), policy.Deps{DB: db(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return as(t, s, authn.Local())
	}
	one, two := replica(), replica()
	third := db()
	stale := newDecider(t, third, forgetful{store.New(third, trail.Of(third))})
	alice := withClaims(t, "alice", `{"department":"finance"}`)
	staleAllows := func() bool {
		t.Helper()
		r, err := stale.Now(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		return r.Revision == 1 && r.Tool("orders__search", nil).Allowed
	}
	one.create(t, finance())
	for name, c := range map[string]clients{"one": one, "two": two} {
		if d := c.decide(t, alice, "orders__search"); !d.GetAllowed() {
			t.Fatalf("%s denies before the change: %v", name, d)
		}
	}
	if !staleAllows() {
		t.Fatal("the third denies before the change")
	}
	for i := range 20 { // back and forth
		disabled := i%2 == 0
		writer, reader := one, two
		if i%3 == 0 {
			writer, reader = two, one
		}
		changed, err := writer.policies.UpdateAccessPolicy(t.Context(), &policyv1.UpdateAccessPolicyRequest{
			AccessPolicy: &policyv1.AccessPolicy{Name: "finance", Disabled: disabled}, UpdateMask: maskOf("disabled"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []clients{reader, writer} {
			if d := c.decide(t, alice, "orders__search"); d.GetAllowed() == disabled || d.GetPolicyRevision() < changed.GetPolicyRevision() {
				t.Errorf("after change %d: %v", changed.GetPolicyRevision(), d)
			}
		}
	}
	if _, err := one.policies.DeleteAccessPolicy(t.Context(), &policyv1.DeleteAccessPolicyRequest{Name: "finance"}); err != nil {
		t.Fatal(err)
	}
	if d := two.decide(t, alice, "orders__search"); d.GetAllowed() {
		t.Errorf("after the deletion: %v", d)
	}
	if !staleAllows() {
		t.Error("without the revision there is no anomaly, so this test shows nothing")
	}
}

func maskOf(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

// direct has the servers of a service by name, to call them without a connection.
type direct map[string]any

// RegisterService implements grpc.ServiceRegistrar.
func (d direct) RegisterService(desc *grpc.ServiceDesc, server any) { d[desc.ServiceName] = server }

func (d direct) decisions() policyv1.PolicyServiceServer {
	return d[policyv1.PolicyService_ServiceDesc.ServiceName].(policyv1.PolicyServiceServer)
}

func (d direct) policies() policyv1.AccessPolicyServiceServer {
	return d[policyv1.AccessPolicyService_ServiceDesc.ServiceName].(policyv1.AccessPolicyServiceServer)
}

// BenchmarkDecideTool is a decision without and with its row, on SQLite.
func BenchmarkDecideTool(b *testing.B) {
	db, err := sqldb.Open(b.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(b.TempDir(), "policy.db"), Schema: "policy"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := policy.New(policy.DefaultConfig(), policy.Deps{DB: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	servers := direct{}
	s.Register(servers)
	decider := newDecider(b, db, store.New(db, trail.Of(db)))
	alice := authn.User("https://issuer.test:alice", "user")
	alice.Claims = &structpb.Struct{Fields: map[string]*structpb.Value{
		"department": structpb.NewStringValue("finance"), "email": structpb.NewStringValue("alice@example.com"),
		"aud": structpb.NewStringValue("windlass"), "exp": structpb.NewNumberValue(1), "iat": structpb.NewNumberValue(1),
		"iss": structpb.NewStringValue("https://issuer.test"), "sub": structpb.NewStringValue("alice"), "jti": structpb.NewStringValue("x"),
	}}
	for _, name := range []string{"finance", "sales", "ops"} {
		if _, err := servers.policies().CreateAccessPolicy(authn.With(b.Context(), authn.Local()), &policyv1.CreateAccessPolicyRequest{
			AccessPolicy: &policyv1.AccessPolicy{
				Name: name, Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Tools: []string{"orders__*"},
				Matchers: []*policyv1.ClaimMatcher{{
					Path: "department", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: []string{name},
				}},
			},
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("without the row", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := decider.Now(b.Context(), alice)
			if err != nil || !r.Tool("orders__search", nil).Allowed {
				b.Fatal(err)
			}
		}
	})
	b.Run("without the row and the revision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := decider.Recent(b.Context(), alice)
			if err != nil || !r.Tool("orders__search", nil).Allowed {
				b.Fatal(err)
			}
		}
	})
	b.Run("with the row", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := servers.decisions().DecideTool(b.Context(), &policyv1.DecideToolRequest{Principal: alice, Tool: "orders__search"})
			if err != nil || !d.GetAllowed() {
				b.Fatal(err)
			}
		}
	})
}
