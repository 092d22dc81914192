package policy_test

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// BenchmarkAccess is what access control adds to one call of a tool with warm caches, on SQLite: the token of the caller is verified, the
// permission of the call and then the tool are decided. The goal is a p50 of 150 µs or less.
func BenchmarkAccess(b *testing.B) {
	idp := bearertest.New(b)
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	verifier, err := bearer.New([]bearer.Issuer{idp.Config()}, bearer.Deps{
		Client: &http.Client{Timeout: 5 * time.Second, Transport: transport}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	edge := authn.NewAuthenticator([]authn.TokenVerifier{verifier}, nil)
	db, err := sqldb.Open(b.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(b.TempDir(), "policy.db"), Schema: "policy"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	s, err := policy.New(policy.DefaultConfig(), policy.Deps{DB: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	servers := direct{}
	s.Register(servers)
	decider := newDecider(b, db, store.New(db, trail.Of(db)))
	admin := authn.With(b.Context(), authn.Local())
	for _, name := range []string{"sales", "ops", "legal", "finance"} {
		if _, err := servers.policies().CreateAccessPolicy(admin, &policyv1.CreateAccessPolicyRequest{AccessPolicy: &policyv1.AccessPolicy{
			Name: name, Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Tools: []string{"orders__*"}, Permissions: []string{"registry.*"},
			Matchers: []*policyv1.ClaimMatcher{{
				Path: "department", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: []string{name},
			}},
		}}); err != nil {
			b.Fatal(err)
		}
	}
	conn := rpctest.Serve(b, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) })
	permissions := authz.New(policyv1.NewPolicyServiceClient(conn), authz.Config{})
	c := authn.Credentials{Authorization: []string{"Bearer " + idp.Token("alice", jwt.MapClaims{"department": "finance"})}}
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		p, err := edge.Authenticate(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		if v, err := permissions.Decide(b.Context(), p, "registry.tools.invoke"); err != nil || !v.Allowed {
			b.Fatalf("%+v, %v", v, err)
		}
		r, err := decider.Now(b.Context(), p)
		if err != nil || !r.Tool("orders__search", nil).Allowed {
			b.Fatal("the tool is not allowed", err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}
