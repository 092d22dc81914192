package catalog_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

const canary = "canary-2f9d61"

// TestTheKeyOfARequestIsUsed: a model that refuses all keys, and repeats them, tells which key it got.
func TestTheKeyOfARequestIsUsed(t *testing.T) {
	got := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
		got <- key
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"type":"error","error":{"message":"the key %s is wrong","type":"authentication_error"}}`, key)
	}))
	defer srv.Close()
	cfg := inferencetest.Config()
	for _, kind := range []string{"openai", "anthropic"} {
		own := catalog.ProviderConfig{Kind: kind, BaseURL: srv.URL, Models: []string{"m"}, APIKeyFrom: "model_key"}
		own.Name = kind + "-own"
		own.APIKey = secret.New("own-key")
		none := own
		none.Name, none.APIKey = kind+"-none", secret.Value{}
		cfg.Providers = append(cfg.Providers, own, none)
	}
	client := inferencetest.Serve(t, cfg, nil)
	with := func(turn, text string) context.Context {
		d, err := providerdata.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := inferencetest.Sealer(t).Seal(d, providerdata.OfTurn(authn.DefaultTenant, turn))
		if err != nil {
			t.Fatal(err)
		}
		return providerdata.With(t.Context(), sealed)
	}
	data := `{"model_key":"` + canary + `","other":"x"}`
	for name, row := range map[string]struct {
		ctx            context.Context
		provider, sent string
		want           string
	}{
		"the request's instead of its own": {with("trn_1", data), "own", canary, "refused"},
		"the request's, without its own":   {with("trn_1", data), "none", canary, "refused"},
		"its own, without the request's":   {with("trn_1", `{"other":"x"}`), "own", "own-key", "refused"},
		"its own, without any data":        {t.Context(), "own", "own-key", "refused"},
		"none at all":                      {t.Context(), "none", "", `needs the key "model_key" in the header X-Windlass-Provider-Data`},
		"that of another turn":             {with("trn_2", data), "none", "", "cannot be opened"},
	} {
		for _, kind := range []string{"openai", "anthropic"} {
			_, err := inferencetest.Ask(row.ctx, t, client, &inferencev1.GenerateRequest{
				Model: kind + "-" + row.provider + "/m", TurnId: "trn_1",
				Messages: []*turnv1.Message{{
					Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "hi"}}},
				}},
			})
			sent := ""
			select {
			case sent = <-got:
			default:
			}
			if err == nil || sent != row.sent || strings.Contains(fmt.Sprintf("%v %+v", err, fault.From(err)), canary) {
				t.Errorf("%s, %s: sent %q, want %q; %v", name, kind, sent, row.sent, err)
			}
			if row.want != "refused" && !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s, %s: got %v, want %q", name, kind, err, row.want)
			}
		}
	}
}
