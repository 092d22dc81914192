package modelcall_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestModerate(t *testing.T) {
	const guard, endpoint = inferencev1.ModerationForm_MODERATION_FORM_GUARD, inferencev1.ModerationForm_MODERATION_FORM_ENDPOINT
	answers := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n", text)
		}
	}
	moderates := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/moderations") {
				t.Errorf("asked %s", r.URL.Path)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	for _, row := range []struct {
		name   string
		form   inferencev1.ModerationForm
		answer http.HandlerFunc
		want   string
		code   string
	}{
		{name: "safe", form: guard, answer: answers("\n\nsafe"), want: "false []"},
		{name: "unsafe", form: guard, answer: answers("unsafe\nS3,S1"), want: "true [S1 S3]"},
		{name: "unsafe without a category", form: guard, answer: answers("unsafe"), want: "true []"},
		{name: "another model", form: guard, answer: answers("I think that is safe."), code: "model_stream_broken"},
		{name: "talks on", form: guard, answer: answers("safely"), code: "model_stream_broken"},
		{
			name: "an endpoint", form: endpoint, want: "true [hate violence/graphic]",
			answer: moderates(`{"results":[{"flagged":true,"categories":{"violence/graphic":true,"hate":true,"x":false},"category_scores":{"x":0.1}}]}`),
		},
		{name: "an endpoint that finds nothing", form: endpoint, answer: moderates(`{"results":[{"flagged":false,"categories":{}}]}`), want: "false []"},
		{name: "an endpoint without a result", form: endpoint, answer: moderates(`{"results":[]}`), code: "model_stream_broken"},
		{name: "an endpoint that does not say", form: endpoint, answer: moderates(`{"results":[{}]}`), code: "model_stream_broken"},
		{name: "an endpoint of another shape", form: endpoint, answer: moderates(`{"results":"no"}`), code: "model_stream_broken"},
		{name: "a flood", form: endpoint, answer: moderates(`{"results":[` + strings.Repeat("{},", 1000) + `{}]}`), code: "model_stream_broken"},
		{
			name: "an endpoint that is not there", form: endpoint, code: "model_rejected",
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv := httptest.NewServer(row.answer)
			t.Cleanup(srv.Close)
			cfg := inferencetest.Config()
			cfg.Providers = []catalog.ProviderConfig{{Name: "test", Kind: "openai", BaseURL: srv.URL, Models: []string{"m"}}}
			client := inferencetest.Serve(t, cfg, nil)
			got, err := client.Moderate(t.Context(), &inferencev1.ModerateRequest{Model: "test/m", Form: row.form, Texts: []string{"kill it"}})
			if row.code != "" {
				if fault.CodeOf(err) != row.code {
					t.Errorf("%v, %v, want %s", got, err, row.code)
				}
				return
			}
			if err != nil || len(got.GetResults()) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if r := got.GetResults()[0]; fmt.Sprint(r.GetFlagged(), " ", r.GetCategories()) != row.want {
				t.Errorf("%v, want %s", r, row.want)
			}
		})
	}
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	_, err := client.Moderate(t.Context(), &inferencev1.ModerateRequest{Form: endpoint, Texts: []string{"x"}})
	if fault.CodeOf(err) != "model_rejected" {
		t.Errorf("a provider without an endpoint: %v", err)
	}
}
