package catalog_test

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// TestWhetherAProviderCanBeUsed: what the list of models answers says whether any model can be used.
func TestWhetherAProviderCanBeUsed(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, row := range []struct {
		name   string
		server http.HandlerFunc // nil = nothing listens
		want   string           // part of the error; "" = it can be used
	}{
		{"it lists its models", status(200, `{"data":[{"id":"m"}]}`), ""},
		{"it has no list", status(404, `{"error":{"message":"no such page"}}`), ""},
		{"it answers nonsense", status(200, `<html>`), ""},
		{"it limits the rate", status(429, `{"error":{"message":"slowly"}}`), ""},
		{"it refuses the key", status(401, `{"error":{"message":"bad key"}}`), "refused the key"},
		{"it fails", status(503, `{"error":{"message":"overloaded"}}`), "failed with HTTP status 503"},
		{"it hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached"},
		{"it is silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "does not answer within"},
		{"nothing is there", nil, "cannot be reached"},
	} {
		t.Run(row.name, func(t *testing.T) {
			url := "http://127.0.0.1:9/v1"
			if row.server != nil {
				server := httptest.NewServer(row.server)
				t.Cleanup(server.Close)
				url = server.URL + "/v1"
			}
			way, err := egress.New(egress.Config{Profile: egress.Local})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(way.CloseIdle)
			cfg := inferencetest.Config()
			cfg.Providers = []catalog.ProviderConfig{
				{Name: "test", Kind: "openai", BaseURL: url, APIKey: secret.New("hidden"), Models: []string{"m"}},
			}
			svc, err := inference.New(t.Context(), cfg, inference.Deps{Deps: catalog.Deps{
				Egress: way, Log: slog.New(slog.DiscardHandler), Getenv: func(string) string { return "" },
			}})
			if err != nil {
				t.Fatal(err)
			}
			checks := svc.Checks()
			if names := slices.Collect(maps.Keys(checks)); len(names) != 1 || names[0] != "model test" {
				t.Fatalf("checks %v", names)
			}
			err = checks["model test"](t.Context())
			if err == nil {
				err = errors.New("")
			}
			if text := err.Error(); (text == "") != (row.want == "") || !strings.Contains(text, row.want) || strings.Contains(text, "hidden") {
				t.Errorf("check = %v, want %q", err, row.want)
			}
		})
	}
}
