package policy

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// forgetful is a store that leaves the revision out: it says the first one forever.
type forgetful struct {
	policyReader
	first *uint64
}

func (f forgetful) Revision(ctx context.Context, tenant string) (uint64, error) {
	if f.first == nil {
		return f.policyReader.Revision(ctx, tenant)
	}
	return *f.first, nil
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
	replica := func() *Service {
		s, err := New(DefaultConfig(), Deps{DB: db(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two, stale := replica(), replica(), replica()
	admin := authn.With(t.Context(), authn.Local())
	alice := authn.User("alice")
	alice.Claims = &structpb.Struct{Fields: map[string]*structpb.Value{"department": structpb.NewStringValue("finance")}}
	decide := func(s *Service) *policyv1.Decision {
		t.Helper()
		d, err := s.DecideTool(t.Context(), &policyv1.DecideToolRequest{Principal: alice, Tool: "orders__search"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	policy := &policyv1.AccessPolicy{
		Name: "finance", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Tools: []string{"orders__*"},
		Matchers: []*policyv1.ClaimMatcher{{
			Path: "department", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: []string{"finance"},
		}},
	}
	if _, err := one.policies.CreateAccessPolicy(admin, &policyv1.CreateAccessPolicyRequest{AccessPolicy: policy}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Service{"one": one, "two": two, "stale": stale} {
		if d := decide(s); !d.GetAllowed() {
			t.Fatalf("%s denies before the change: %v", name, d)
		}
	}
	first := uint64(1)
	stale.decider.sets.store = forgetful{stale.store, &first}
	for i := range 20 { // back and forth
		policy.Disabled = i%2 == 0
		writer, reader := one, two
		if i%3 == 0 {
			writer, reader = two, one
		}
		changed, err := writer.policies.UpdateAccessPolicy(admin, &policyv1.UpdateAccessPolicyRequest{
			AccessPolicy: &policyv1.AccessPolicy{Name: "finance", Disabled: policy.GetDisabled()}, UpdateMask: maskOf("disabled"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Service{reader, writer} {
			if d := decide(s); d.GetAllowed() == policy.GetDisabled() || d.GetPolicyRevision() < changed.GetPolicyRevision() {
				t.Errorf("after change %d: %v", changed.GetPolicyRevision(), d)
			}
		}
	}
	if _, err := one.policies.DeleteAccessPolicy(admin, &policyv1.DeleteAccessPolicyRequest{Name: "finance"}); err != nil {
		t.Fatal(err)
	}
	if d := decide(two); d.GetAllowed() {
		t.Errorf("after the deletion: %v", d)
	}
	if d := decide(stale); !d.GetAllowed() || d.GetPolicyRevision() != 1 {
		t.Errorf("without the revision there is no anomaly, so this test shows nothing: %v", d)
	}
}

// TestAChangeInTheSameProcessIsNeverStale: changed and a slow reader of the old revision race.
func TestAChangeInTheSameProcessIsNeverStale(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "policy.db"))
	s, err := New(DefaultConfig(), Deps{DB: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	sets := s.decider.sets
	old, err := sets.current(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	asked := sets.now()
	if _, err := s.store.ChangePolicies(t.Context(), "default", func(store.Snapshot) (store.Change, error) {
		return store.Change{Put: &store.Policy{Name: "p", Spec: store.Spec{Effect: store.Allow}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	sets.changed("default")
	sets.keep("default", old, asked) // by a reader that had read the old revision
	if got, err := sets.recent(t.Context(), "default", s.maxAge); err != nil || got.Revision != 1 {
		t.Errorf("revision %v, %v", got, err)
	}
}

func maskOf(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

// BenchmarkDecideTool is a decision without and with its row, on SQLite.
func BenchmarkDecideTool(b *testing.B) {
	db, err := sqldb.Open(b.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(b.TempDir(), "policy.db"), Schema: "policy"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := New(DefaultConfig(), Deps{DB: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	alice := authn.User("https://issuer.test:alice", "user")
	alice.Claims = &structpb.Struct{Fields: map[string]*structpb.Value{
		"department": structpb.NewStringValue("finance"), "email": structpb.NewStringValue("alice@example.com"),
		"aud": structpb.NewStringValue("windlass"), "exp": structpb.NewNumberValue(1), "iat": structpb.NewNumberValue(1),
		"iss": structpb.NewStringValue("https://issuer.test"), "sub": structpb.NewStringValue("alice"), "jti": structpb.NewStringValue("x"),
	}}
	for _, name := range []string{"finance", "sales", "ops"} {
		if _, err := s.policies.CreateAccessPolicy(authn.With(b.Context(), authn.Local()), &policyv1.CreateAccessPolicyRequest{
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
			r, err := s.decider.now(b.Context(), alice)
			if err != nil || !r.tool("orders__search", nil).Allowed {
				b.Fatal(err)
			}
		}
	})
	b.Run("without the row and the revision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := s.decider.recent(b.Context(), alice)
			if err != nil || !r.tool("orders__search", nil).Allowed {
				b.Fatal(err)
			}
		}
	})
	b.Run("with the row", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := s.DecideTool(b.Context(), &policyv1.DecideToolRequest{Principal: alice, Tool: "orders__search"})
			if err != nil || !d.GetAllowed() {
				b.Fatal(err)
			}
		}
	})
}
