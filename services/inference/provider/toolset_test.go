package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/provider/vendortest"
)

// TestReplacedNamesOfPropertiesComeBack: the model is offered a name that its API takes, and the call has that of the tool.
func TestReplacedNamesOfPropertiesComeBack(t *testing.T) {
	for name, v := range vendors() {
		t.Run(name, func(t *testing.T) {
			key := ""
			f := newFake(t, nil)
			f.answer = func(w http.ResponseWriter, r *http.Request) {
				if other := v.other[r.URL.Path]; other != nil {
					other(w, r)
					return
				}
				var body map[string]any
				if err := json.Unmarshal([]byte(f.seen()[len(f.seen())-1].body), &body); err != nil {
					t.Error(err)
				}
				named, _ := at(vendortest.Offered(v.kind, body)[0].Schema, "properties").(map[string]any)
				for key = range named {
				}
				v.respond(v.call("call_1", "s__find", fmt.Sprintf(`{%q: [{%q:%s}]}`, key, key, bigID)))(w, r)
			}
			got, err := inferencetest.Ask(t.Context(), t, provide(t, v.kind, f.URL), &inferencev1.GenerateRequest{
				Model: "test/" + v.model, Messages: []*turnv1.Message{inferencetest.User("hi")},
				Tools: []*inferencev1.ToolDefinition{{
					Name: "s__find", InputSchemaJson: `{"type":"object","properties":{"filter[näme]":{"type":"array"}},"required":["filter[näme]"]}`,
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"filter[näme]": [{"filter[näme]":` + bigID + `}]}`
			have := got.Finished.GetToolCalls()[0].GetArgumentsJson()
			if strings.ReplaceAll(have, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%s is %s, want %s", key, have, want)
			}
		})
	}
}

// TestTooManyToolsAreNamed: the API takes 128, and refuses the request for one more.
func TestTooManyToolsAreNamed(t *testing.T) {
	f := newFake(t, stream(events(created, textAt(0, "Hi"), completes())))
	req := hello()
	for i := range 130 {
		req.Tools = append(req.Tools, &inferencev1.ToolDefinition{Name: fmt.Sprintf("s__t%d", i)})
	}
	req.Tools = append(req.Tools, req.Tools[0])
	got, err := inferencetest.Ask(t.Context(), t, provide(t, "openai-responses", f.URL), req)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(f.seen()[0].body), &body); err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(got.Finished.GetWarnings(), "\n")
	if wrong := vendortest.OpenAI.Tools("openai-responses", body); wrong != "" || len(got.Finished.GetWarnings()) != 3 ||
		!strings.Contains(warnings, "s__t129 is not offered to the model: the API takes 128 tools") ||
		!strings.Contains(warnings, "another one has its name") {
		t.Errorf("%s, warnings\n%s", wrong, warnings)
	}
}

// TestAReasonInEachEventIsNotTheEnd: some servers name the reason with each piece, so a lost connection is no complete answer.
func TestAReasonInEachEventIsNotTheEnd(t *testing.T) {
	part := func(text string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"` + text + `"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":20}}`
	}
	chunk := func(text string) string {
		return `{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":"stop"}]}`
	}
	piece := func(text string) string {
		return `{"model":"m","message":{"content":"` + text + `"},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":2}`
	}
	for kind, row := range map[string]struct {
		pieces []string
		play   func(...string) http.HandlerFunc
	}{
		"gemini": {[]string{data(part("Hel")), data(part("lo"))}, stream},
		"openai": {[]string{data(chunk("Hel")), data(chunk("lo"))}, stream},
		"ollama": {[]string{lines(piece("Hel")), lines(piece("lo"))}, ndjson},
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFake(t, row.play(row.pieces...))
			got, err := inferencetest.Ask(t.Context(), t, provide(t, kind, f.URL), hello())
			if err != nil || got.Finished.GetText() != "Hello" {
				t.Errorf("%q, %v", got.Finished.GetText(), err)
			}
			f = newFake(t, row.play(row.pieces[0], cut))
			_, err = inferencetest.Ask(t.Context(), t, provide(t, kind, f.URL), hello())
			if !fault.Is(fault.From(err), faultv1.Reason_REASON_MODEL_STREAM_BROKEN) {
				t.Errorf("a lost connection after the first piece: %v", err)
			}
		})
	}
}
