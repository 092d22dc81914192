package inference_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/sqldb"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/route"
)

// routed serves replicas of the service over one database, for callers of the given tenants.
func routed(t *testing.T, configured []route.Config, tenants ...string) (out []inferencev1.InferenceServiceClient) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "inference.db"), Schema: "inference"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	cfg := inferencetest.Config()
	cfg.Routes, cfg.MaxRoutes = configured, 3
	cfg.Providers = append(cfg.Providers, catalog.ProviderConfig{
		Name: "house", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"x"},
	})
	for _, tenant := range tenants {
		who := authn.User("alice")
		who.Tenant = tenant
		out = append(out, inferencev1.NewInferenceServiceClient(inferencetest.ServeAs(t, cfg, nil,
			[]rpctest.Option{rpctest.WithPrincipal(who)}, func(d *inference.Deps) { d.DB = db })))
	}
	return out
}

func to(models ...string) (out []*inferencev1.RouteTarget) {
	for _, m := range models {
		out = append(out, &inferencev1.RouteTarget{Model: m})
	}
	return out
}

// chain describes the models of a turn of a tenant: "ROUTE ORIGIN: MODEL MODEL", and returns the revision.
func chain(t *testing.T, c inferencev1.InferenceServiceClient, tenant, agent string) (text, revision string) {
	t.Helper()
	got, err := c.ResolveChain(t.Context(), &inferencev1.ResolveChainRequest{
		AgentId: agent, Model: "builtin/scripted", Principal: &policyv1.Principal{Tenant: tenant, Subject: "alice"}, Modalities: []string{"text"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, target := range got.GetTargets() {
		models = append(models, target.GetModel().GetName())
	}
	origin := strings.TrimPrefix(got.GetRouteOrigin().String(), "ROUTE_ORIGIN_")
	return fmt.Sprintf("%s %s: %s", got.GetRoute(), origin, strings.Join(models, " ")), got.GetRevision()
}

func wantChain(t *testing.T, c inferencev1.InferenceServiceClient, tenant, agent, want string) (revision string) {
	t.Helper()
	got, revision := chain(t, c, tenant, agent)
	if got != want {
		t.Errorf("%s of %s: %s, want %s", agent, tenant, got, want)
	}
	return revision
}

const agentOnly = " UNSPECIFIED: builtin/scripted"

// TestRoutesOfATenant changes routes in one replica; another one and another tenant are asked.
func TestRoutesOfATenant(t *testing.T) {
	t.Parallel()
	configured := []route.Config{
		{Name: "all", When: `agent == "shared"`, Targets: []route.TargetConfig{{Model: "house/all"}}, Default: true},
		{Name: "always", When: `agent == "legal"`, Targets: []route.TargetConfig{{Model: "house/eu"}}},
	}
	clients := routed(t, configured, "acme", "acme", "other")
	one, two := clients[0], clients[1]
	first := wantChain(t, two, "acme", "a", agentOnly)
	made, err := one.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{Route: &inferencev1.Route{
		Name: "mine", When: `agent in ["a", "shared", "legal"]`, Targets: to("house/mine", "builtin/scripted"), Description: "ours",
		Priority: 1000,
	}})
	if err != nil || made.GetRevision() != 1 || made.GetOrigin() != inferencev1.RouteOrigin_ROUTE_ORIGIN_API || made.GetCreateTime() == nil {
		t.Fatalf("created %v, %v", made, err)
	}
	second := wantChain(t, two, "acme", "a", "mine API: house/mine builtin/scripted")
	wantChain(t, two, "acme", "shared", "mine API: house/mine builtin/scripted") // before the default route
	wantChain(t, two, "acme", "legal", "always CONFIGURATION: house/eu")         // no priority precedes it
	if got := wantChain(t, two, "other", "a", agentOnly); got != first || second == first {
		t.Errorf("revisions: %s before, %s then, %s of another tenant", first, second, got)
	}
	updated, err := two.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{
		Route:      &inferencev1.Route{Name: "mine", Targets: to("house/new"), Revision: 1},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"targets"}},
	})
	if err != nil || updated.GetRevision() != 2 || updated.GetDescription() != "ours" {
		t.Errorf("updated %v, %v", updated, err)
	}
	wantChain(t, one, "acme", "a", "mine API: house/new")
	_, err = one.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{Route: &inferencev1.Route{Name: "mine", Priority: 7, Revision: 1}})
	if fault.CodeOf(err) != "conflict" {
		t.Errorf("an update of an old revision: %v", err)
	}
	_, err = one.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{
		Route: &inferencev1.Route{Name: "mine", Disabled: true}, ValidateOnly: true,
	})
	if err != nil {
		t.Error(err)
	}
	wantChain(t, one, "acme", "a", "mine API: house/new")
	off := &inferencev1.Route{Name: "mine", Disabled: true}
	if _, err = one.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{Route: off}); err != nil {
		t.Error(err)
	}
	wantChain(t, two, "acme", "a", agentOnly)
	if _, err := clients[2].DeleteRoute(t.Context(), &inferencev1.DeleteRouteRequest{Name: "mine"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("deleted by another tenant: %v", err)
	}
	if _, err := one.DeleteRoute(t.Context(), &inferencev1.DeleteRouteRequest{Name: "mine"}); err != nil {
		t.Error(err)
	}
	if got := wantChain(t, two, "acme", "a", agentOnly); got != first {
		t.Errorf("the revision without routes is %s, before them it was %s", got, first)
	}
}

func TestRoutesAreListedInTheirOrder(t *testing.T) {
	t.Parallel()
	c := routed(t, []route.Config{
		{Name: "low", Targets: []route.TargetConfig{{Model: "house/x"}}, Default: true},
		{Name: "high", Targets: []route.TargetConfig{{Model: "house/x"}}},
	}, "acme")[0]
	for name, priority := range map[string]int32{"b": 0, "a": 0, "top": 6} {
		if _, err := c.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{Route: &inferencev1.Route{
			Name: name, Targets: to("house/x"), Priority: priority, Disabled: name == "b",
		}}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	req := &inferencev1.ListRoutesRequest{PageSize: 2}
	for {
		got, err := c.ListRoutes(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.GetRoutes() {
			names = append(names, r.GetName())
		}
		if req.PageToken = got.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "high top a b low" {
		t.Error(got)
	}
	for name, origin := range map[string]inferencev1.RouteOrigin{
		"top": inferencev1.RouteOrigin_ROUTE_ORIGIN_API, "low": inferencev1.RouteOrigin_ROUTE_ORIGIN_CONFIGURATION,
	} {
		if got, err := c.GetRoute(t.Context(), &inferencev1.GetRouteRequest{Name: name}); err != nil || got.GetOrigin() != origin {
			t.Errorf("%v, %v", got, err)
		}
	}
	_, err := c.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{Route: &inferencev1.Route{Name: "more", Targets: to("house/x")}})
	if fault.CodeOf(err) != "failed_precondition" {
		t.Errorf("one more than there may be: %v", err)
	}
}

func TestRoutesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := routed(t, []route.Config{{Name: "configured", Targets: []route.TargetConfig{{Model: "house/x"}}}}, "acme")[0]
	good := &inferencev1.Route{Name: "good", Targets: to("house/x")}
	if _, err := c.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{Route: good}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name       string
		change     func(*inferencev1.Route)
		code, says string
	}{
		{"no name", func(r *inferencev1.Route) { r.Name = "" }, "invalid_argument", "route.name"},
		{"a name with a space", func(r *inferencev1.Route) { r.Name = "a b" }, "invalid_argument", "lower-case"},
		{"a name that is taken", func(r *inferencev1.Route) { r.Name = "good" }, "already_exists", "good"},
		{"a name of the configuration", func(r *inferencev1.Route) { r.Name = "configured" }, "already_exists", "configuration"},
		{"no targets", func(r *inferencev1.Route) { r.Targets = nil }, "invalid_argument", "route.targets"},
		{
			"a target without a provider", func(r *inferencev1.Route) { r.Targets = to("house/x", "none/x") }, "invalid_argument",
			"route.targets[1].model",
		},
		{"a target that is no model", func(r *inferencev1.Route) { r.Targets = to("x") }, "invalid_argument", "provider/model"},
		{"a weight that is too high", func(r *inferencev1.Route) { r.Targets[0].Weight = 1001 }, "invalid_argument", "route.targets[0].weight"},
		{"a priority that is too high", func(r *inferencev1.Route) { r.Priority = 1001 }, "invalid_argument", "route.priority"},
		{"a condition that does not parse", func(r *inferencev1.Route) { r.When = "agent ==" }, "invalid_argument", "route.when"},
		{"a condition over what is not there", func(r *inferencev1.Route) { r.When = "user == 1" }, "invalid_argument", "undeclared"},
		{"a huge pattern", func(r *inferencev1.Route) { r.When = `agent.matches("(\\pL{1,1000})N")` }, "invalid_argument", "too large"},
	} {
		r := &inferencev1.Route{Name: "bad", Targets: to("house/x")}
		row.change(r)
		_, err := c.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{Route: r})
		if fault.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.says) {
			t.Errorf("create, %s: %v", row.name, err)
		}
		if r.GetName() != "bad" {
			continue
		}
		r = proto.CloneOf(r)
		r.Name = "good"
		_, err = c.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{Route: r, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"*"}}})
		if fault.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.says) {
			t.Errorf("update, %s: %v", row.name, err)
		}
	}
	for name, code := range map[string]string{"configured": "failed_precondition", "none": "not_found"} {
		_, err := c.UpdateRoute(t.Context(), &inferencev1.UpdateRouteRequest{Route: &inferencev1.Route{Name: name, Priority: 1}})
		if fault.CodeOf(err) != code {
			t.Errorf("update of %s: %v", name, err)
		}
		if _, err := c.DeleteRoute(t.Context(), &inferencev1.DeleteRouteRequest{Name: name}); fault.CodeOf(err) != code {
			t.Errorf("delete of %s: %v", name, err)
		}
	}
	if _, err := c.GetRoute(t.Context(), &inferencev1.GetRouteRequest{Name: "none"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("get: %v", err)
	}
}

// TestRoutesWithoutADatabase are those of the configuration only.
func TestRoutesWithoutADatabase(t *testing.T) {
	t.Parallel()
	c := inferencetest.Serve(t, inferencetest.Config(), nil)
	_, err := c.CreateRoute(t.Context(), &inferencev1.CreateRouteRequest{
		Route: &inferencev1.Route{Name: "a", Targets: to("builtin/scripted")},
	})
	if fault.CodeOf(err) != "failed_precondition" {
		t.Error(err)
	}
	wantChain(t, c, "acme", "a", agentOnly)
}
