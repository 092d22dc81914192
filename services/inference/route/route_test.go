package route_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/route"
)

func user(t *testing.T, claims map[string]any, roles ...string) *policyv1.Principal {
	t.Helper()
	c, err := structpb.NewStruct(claims)
	if err != nil {
		t.Fatal(err)
	}
	return &policyv1.Principal{Subject: "alice", Tenant: "acme", Roles: roles, Claims: c}
}

func to(models ...string) (out []route.TargetConfig) {
	for _, m := range models {
		out = append(out, route.TargetConfig{Model: m})
	}
	return out
}

func TestTheFirstRouteThatMatchesChooses(t *testing.T) {
	table, err := route.New([]route.Config{
		{Name: "vision", When: `"image" in modalities`, Targets: to("a/eyes")},
		{Name: "long", When: `size > 100000`, Targets: to("a/long", "b/long")},
		{Name: "pro", When: `principal.claims.plan == "pro" && "staff" in principal.roles`, Targets: to("a/pro")},
		{Name: "deep", When: `principal.claims.org.level >= 3`, Targets: to("a/deep")},
		{Name: "support", When: `agent == "support" && tenant == "acme"`, Targets: to("a/support")},
		{Name: "mine", When: `model.startsWith("b/")`, Targets: to("a/mine")},
		{Name: "bob", When: `principal.subject == "bob"`, Targets: to("a/bob")},
	})
	if err != nil {
		t.Fatal(err)
	}
	pro := user(t, map[string]any{"plan": "pro"}, "staff")
	for _, row := range []struct {
		name  string
		turn  route.Turn
		route string
		want  []string
	}{
		{"an image", route.Turn{Modalities: []string{"image", "text"}}, "vision", []string{"a/eyes"}},
		{"an image of a pro", route.Turn{Modalities: []string{"image"}, Principal: pro}, "vision", []string{"a/eyes"}},
		{"a long conversation", route.Turn{Size: 100_001}, "long", []string{"a/long", "b/long"}},
		{"not that long", route.Turn{Size: 100_000}, "", []string{""}},
		{"a claim and a role", route.Turn{Principal: pro}, "pro", []string{"a/pro"}},
		{"a claim without the role", route.Turn{Principal: user(t, map[string]any{"plan": "pro"})}, "", []string{""}},
		{"a claim inside another", route.Turn{Principal: user(t, map[string]any{"org": map[string]any{"level": 3}})}, "deep", []string{"a/deep"}},
		{"a claim of another type", route.Turn{Principal: user(t, map[string]any{"org": "x"})}, "", []string{""}},
		{"an agent of a tenant", route.Turn{Agent: "support", Principal: pro}, "pro", []string{"a/pro"}},
		{"the same for others", route.Turn{Agent: "support", Principal: user(t, nil)}, "support", []string{"a/support"}},
		{"a model", route.Turn{Model: "b/x"}, "mine", []string{"a/mine"}},
		{"none", route.Turn{Model: "c/x", Fallbacks: []string{"d/x"}, Principal: user(t, nil)}, "", []string{"c/x", "d/x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.turn.Modalities == nil {
				row.turn.Modalities = []string{"text"}
			}
			got := table.Choose(row.turn)
			var models []string
			for _, p := range got.Picks {
				models = append(models, p.Model)
				if p.Reason == "" {
					t.Errorf("%s without a reason", p.Model)
				}
			}
			if got.Route != row.route || !slices.Equal(models, row.want) {
				t.Errorf("route %q, models %v; want %q, %v", got.Route, models, row.route, row.want)
			}
		})
	}
	if got := table.Choose(route.Turn{}); !got.NeedsModalities {
		t.Errorf("without modalities: %v", got)
	}
}

func TestWeightsAreSharesOfSessions(t *testing.T) {
	table, err := route.New([]route.Config{{Name: "r", Targets: []route.TargetConfig{
		{Model: "a/last"}, {Model: "a/one", Weight: 1}, {Model: "a/three", Weight: 3},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for i := range 4000 {
		turn := route.Turn{Session: fmt.Sprint("ses_", i)}
		picks := table.Choose(turn).Picks
		first[picks[0].Model]++
		if picks[2].Model != "a/last" {
			t.Fatalf("%v", picks)
		}
		for range 3 {
			if again := table.Choose(turn).Picks; again[0] != picks[0] {
				t.Fatalf("session %d changed from %v to %v", i, picks[0], again[0])
			}
		}
	}
	if n := first["a/three"]; n < 2850 || n > 3150 {
		t.Errorf("of 4000 sessions %v", first)
	}
}

func TestWrongRoutes(t *testing.T) {
	long := make([]route.TargetConfig, 65)
	for i := range long {
		long[i].Model = fmt.Sprint("a/", i)
	}
	for _, row := range []struct {
		route route.Config
		says  string
	}{
		{route.Config{Name: "A b", Targets: to("a/b")}, "name"},
		{route.Config{Name: "r"}, "targets is empty"},
		{route.Config{Name: "r", Targets: long}, "65 models"},
		{route.Config{Name: "r", Targets: to("b")}, "provider/model"},
		{route.Config{Name: "r", Targets: to("a/b", "a/b")}, "twice"},
		{route.Config{Name: "r", Targets: []route.TargetConfig{{Model: "a/b", Weight: -1}}}, "weight"},
		{route.Config{Name: "r", Targets: to("a/b"), When: "size +"}, "line 1"},
		{route.Config{Name: "r", Targets: to("a/b"), When: "size + 1"}, "want true or false"},
		{route.Config{Name: "r", Targets: to("a/b"), When: "nobody == 1"}, "undeclared"},
		{route.Config{Name: "taken", Targets: to("a/b")}, "is taken"},
	} {
		_, err := route.New([]route.Config{{Name: "taken", Targets: to("a/b")}, row.route})
		if err == nil || !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), "routes[1]") {
			t.Errorf("%v: %v", row.route.Name, err)
		}
	}
}

// denies denies permissions that match globs.
type denies []string

func (d denies) Decide(_ context.Context, _ *policyv1.Principal, permission string) (authz.Verdict, error) {
	if glob.Any(d, permission) {
		return authz.Verdict{DeniedBy: "no-" + permission}, nil
	}
	return authz.Verdict{}, nil
}

// TestAChosenModelIsTheOnlyOne: it exists, policy does not deny it, and it is a target of the route that applies.
func TestAChosenModelIsTheOnlyOne(t *testing.T) {
	models := inferencetest.Catalog(t, catalog.Config{Providers: []catalog.ProviderConfig{
		{Name: "a", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"0"}},
	}})
	routes := []route.Config{{Name: "large", When: "size > 5", Targets: to("builtin/scripted", "a/0")}}
	r, err := route.NewResolver(routes, route.Deps{Models: models, Policy: route.Policy{Authorizer: denies{route.Permission + "a/secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		model string
		size  int64
		code  string
	}{
		{"a/0", 1, ""},
		{"a/0", 9, ""},
		{"a/other", 1, ""},
		{"a/other", 9, "invalid_argument"},
		{"a/secret", 1, "permission_denied"},
		{"b/0", 1, "model_unknown"},
	} {
		chain, err := r.Resolve(t.Context(), route.Turn{
			Model: row.model, Fallbacks: []string{"builtin/scripted"}, Chosen: true, Size: row.size,
			Principal: &policyv1.Principal{Subject: "alice"},
		})
		if fault.CodeOf(err) != row.code {
			t.Errorf("%s, size %d: %v", row.model, row.size, err)
		}
		if err == nil && (len(chain.Targets) != 1 || chain.Targets[0].Model.FullName() != row.model) {
			t.Errorf("%s, size %d: %v", row.model, row.size, chain)
		}
	}
}

// TestATargetThatTakesTheInputIsFirst: an agent's models are called in another order if one of them does not take an image.
func TestATargetThatTakesTheInputIsFirst(t *testing.T) {
	t.Parallel()
	kinds := func(model string, input ...string) catalog.ModelConfig {
		return catalog.ModelConfig{Model: model, SheetConfig: catalog.SheetConfig{Input: input}}
	}
	models := inferencetest.Catalog(t, catalog.Config{
		Providers: []catalog.ProviderConfig{{Name: "a", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"text", "eyes"}}},
		Models:    []catalog.ModelConfig{kinds("a/text", "text"), kinds("a/eyes", "text", "image")},
	})
	r, err := route.NewResolver(nil, route.Deps{Models: models})
	if err != nil {
		t.Fatal(err)
	}
	for modalities, want := range map[string]string{
		"text": "a/text a/eyes", "text image": "a/eyes a/text", "text audio": "a/text a/eyes", "text image audio": "a/text a/eyes",
		"": "a/text a/eyes",
	} {
		chain, err := r.Resolve(t.Context(), route.Turn{
			Model: "a/text", Fallbacks: []string{"a/eyes"}, Modalities: strings.Fields(modalities), Principal: &policyv1.Principal{Subject: "alice"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, target := range chain.Targets {
			names = append(names, target.Model.FullName())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("with %s: %s, want %s", modalities, got, want)
		}
	}
}

func TestADeniedModelIsInNoChain(t *testing.T) {
	names := []string{"builtin/scripted", "a/0", "a/1", "b/0", "b/1", "b/2"}
	models := inferencetest.Catalog(t, catalog.Config{Providers: []catalog.ProviderConfig{
		{Name: "a", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"0"}},
		{Name: "b", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"0"}},
	}})
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (out []string) {
		for _, n := range names {
			if random.IntN(2) == 0 {
				out = append(out, n)
			}
		}
		return out
	}
	for range 500 {
		var routes []route.Config
		if targets := some(); len(targets) > 0 {
			routes = append(routes, route.Config{Name: "r", When: "size > 5", Targets: to(targets...)})
		}
		var rules denies
		for _, n := range some() {
			rules = append(rules, route.Permission+n)
		}
		r, err := route.NewResolver(routes, route.Deps{Models: models, Policy: route.Policy{Authorizer: rules}})
		if err != nil {
			t.Fatal(err)
		}
		turn := route.Turn{
			Model: names[random.IntN(len(names))], Fallbacks: some(), Principal: &policyv1.Principal{Subject: "alice"}, Size: random.Int64N(10),
		}
		chain, err := r.Resolve(t.Context(), turn)
		if err != nil {
			if fault.From(err).Code != codes.PermissionDenied {
				t.Fatal(err)
			}
			continue
		}
		if len(chain.Targets) == 0 {
			t.Fatal("an empty chain")
		}
		for _, target := range chain.Targets {
			if glob.Any(rules, route.Permission+target.Model.FullName()) {
				t.Fatalf("%s is denied by %v", target.Model.FullName(), rules)
			}
		}
	}
}

func TestAnUnknownTargetIsAnError(t *testing.T) {
	models := inferencetest.Catalog(t, catalog.Config{})
	_, err := route.NewResolver([]route.Config{{Name: "r", Targets: to("builtin/scripted", "nowhere/x")}}, route.Deps{Models: models})
	if err == nil || !strings.Contains(err.Error(), "routes[0]: targets[1]") {
		t.Error(err)
	}
}
