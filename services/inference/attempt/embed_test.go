package attempt_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/route"
)

// embeds answers with the vector of one text.
func embeds(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"data":[{"index":0,"embedding":[1,2]}]}`))
}

func embedding(
	t *testing.T, answers map[string]http.HandlerFunc, change ...func(*inference.Deps),
) (*keyed, inferencev1.InferenceServiceClient) {
	t.Helper()
	k := &keyed{calls: map[string]int{}, answers: answers}
	s := httptest.NewServer(http.HandlerFunc(k.serve))
	t.Cleanup(s.Close)
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{{Name: "a", Kind: "openai", BaseURL: s.URL, Models: []string{"m"}}}
	withKeys("1", "2")(&cfg)
	return k, inferencetest.Serve(t, cfg, nil, change...)
}

var one = &inferencev1.EmbedRequest{Model: "a/m", Texts: []string{"a"}}

func TestEmbeddingsUseAnotherKey(t *testing.T) {
	k, client := embedding(t, map[string]http.HandlerFunc{
		"secret-1": refuses(429, "slowly", "Retry-After", "600"), "secret-2": embeds,
	})
	var failed []*turnv1.ModelAttempt
	for i := range 20 {
		req := &inferencev1.EmbedRequest{Model: "a/m", Texts: []string{"a"}, TurnId: "trn_" + strings.Repeat("x", i)}
		got, err := client.Embed(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, got.GetFailedAttempts()...)
	}
	if len(failed) != 1 || failed[0].GetKey() != "k1" || k.of("secret-1") != 1 || k.of("secret-2") != 20 {
		t.Errorf("failed attempts %v, calls %v", failed, k.calls)
	}
	if got := entries(t, client); !slices.Equal(got, []string{"a/k1 cooling"}) {
		t.Errorf("health %q", got)
	}
}

func TestWithoutAHealthyKeyEmbeddingsFail(t *testing.T) {
	_, client := embedding(t, map[string]http.HandlerFunc{"secret-1": refuses(401, "revoked"), "secret-2": refuses(401, "revoked")})
	for range 2 {
		_, err := client.Embed(t.Context(), one)
		text := fault.From(err).Message
		if fault.CodeOf(err) != "model_rejected" || !strings.Contains(text, "k1") || !strings.Contains(text, "k2") {
			t.Error(err)
		}
	}
}

// denier denies a permission.
type denier string

// Decide implements route.Authorizer.
func (d denier) Decide(_ context.Context, who *policyv1.Principal, permission string) (authz.Verdict, error) {
	if permission == string(d) && who.GetSubject() == "local" {
		return authz.Verdict{DeniedBy: "no-m"}, nil
	}
	return authz.Verdict{}, nil
}

func TestPolicyDeniesModelsOfOtherCallsToo(t *testing.T) {
	k, client := embedding(t, nil, func(d *inference.Deps) { d.Authorizer = denier(route.Permission + "a/m") })
	_, embed := client.Embed(t.Context(), one)
	_, rerank := client.Rerank(t.Context(), &inferencev1.RerankRequest{Model: "a/m", Query: "q", Documents: []string{"a"}})
	_, count := client.CountTokens(t.Context(), &inferencev1.CountTokensRequest{
		Model: "a/m", Messages: []*turnv1.Message{inferencetest.User("hello")},
	})
	_, try := client.TryModel(t.Context(), &inferencev1.TryModelRequest{Model: "a/m"})
	for name, err := range map[string]error{"Embed": embed, "Rerank": rerank, "CountTokens": count, "TryModel": try} {
		if fault.CodeOf(err) != "permission_denied" || !strings.Contains(err.Error(), "no-m") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(k.calls) != 0 {
		t.Errorf("calls %v", k.calls)
	}
}
