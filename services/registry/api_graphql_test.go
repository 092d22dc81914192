package registry_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graph-gophers/graphql-go"
	"github.com/graph-gophers/graphql-go/relay"

	"github.com/windlass-dev/windlass/libs/testpoll"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestAGraphQLAPIBecomesTools: a real GraphQL server, its queries and mutations, and how often it is asked for its schema.
func TestAGraphQLAPIBecomesTools(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	var mu sync.Mutex
	introspections, queries := 0, 0
	sdl := func(s string) http.Handler {
		return &relay.Handler{Schema: graphql.MustParseSchema(s, &shop{}, graphql.UseStringDescriptions())}
	}
	handler := sdl(`type Query { pet(id: ID!): String! "A number." count: Int! } type Mutation { sell(id: ID!): Boolean! }`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer hunter2-hunter2" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "__schema") {
			introspections++
		} else {
			queries++
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	w := newWorld(t)
	cfg := config()
	cfg.SyncEvery = 20 * time.Millisecond
	r := w.start(cfg)
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "shop", Kind: "graphql", Url: server.URL, Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:WINDLASS_TOOL_SECRET}"},
	}})
	if err != nil || src.GetToolCount() != 3 {
		t.Fatalf("created: %v, %v", src, err)
	}
	testpoll.Until(t, "it is asked whether it is there", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return queries > 3
	})
	mu.Lock()
	if introspections != 1 {
		t.Errorf("%d introspections", introspections)
	}
	handler = sdl(`type Query { pet(id: ID!): String! "How many." count: Int! } type Mutation { sell(id: ID!): Boolean! }`)
	mu.Unlock()
	result, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "shop"})
	if err != nil || strings.Join(result.GetChanged(), " ") != "shop__count" {
		t.Errorf("synced: %v, %v", result, err)
	}
	for _, row := range []struct{ tool, arguments, want string }{
		{"shop__pet", `{"id":"7"}`, `"pet 7"`},
		{"shop__count", `{}`, `3`},
		{"shop__sell", `{"id":"7"}`, "The API answered with errors:\n" + `[{"message":"sold out of hunter","path":["sell"]}]`},
	} {
		if s := r.callAPI(row.tool, row.arguments); s.text() != row.want || s.completed.GetCode() != "" {
			t.Errorf("%s: %s %q", row.tool, s.completed.GetCode(), s.text())
		}
	}
	if row := r.row(fmt.Sprint("key-", keys.Load())); row.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_ONCE || !row.GetIsError() {
		t.Errorf("the mutation's row: %v", row)
	}
}

type shop struct{}

func (shop) Pet(args struct{ ID graphql.ID }) string { return "pet " + string(args.ID) }
func (shop) Count() int32                            { return 3 }
func (shop) Sell(struct{ ID graphql.ID }) (bool, error) {
	return false, errors.New("sold out of hunter")
}
