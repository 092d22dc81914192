package provider_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// bigID is an id that a double does not hold.
const bigID = "9007199254740993"

// oddTools are tools as servers describe them: one good one, and others that APIs refuse as they are.
func oddTools() []*inferencev1.ToolDefinition {
	tools := []*inferencev1.ToolDefinition{{
		Name: "s__echo", Description: "Echoes.", InputSchemaJson: `{"type":"object","properties":{"text":{"type":"string"},"id":{"type":"integer"}}}`,
	}}
	for i, schema := range []string{
		`{"type":"object","properties":{"id":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["mail"]}]}`,
		`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
		`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}]}`,
		`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"tags":{"type":"array"}}}`,
		`{"type":"object","properties":{"deep":{"type":"object","properties":{"tags":{"type":["array","null"]}}}}}`,
		`{"type":"object","properties":[]}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":[]},"filter[name]":{"type":"any"}},"required":null}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,` +
			`"properties":{"p":{"$ref":"#/definitions/p"}},"definitions":{"p":{"type":["string","null"],"const":"x"}}}`,
		``,
	} {
		tools = append(tools, &inferencev1.ToolDefinition{Name: fmt.Sprintf("s__odd_%d", i), Description: "Odd.", InputSchemaJson: schema})
	}
	tools[1].Description = strings.Repeat("long ", 300)
	return append(tools, &inferencev1.ToolDefinition{Name: "s__none", InputSchemaJson: `{"type":"array"}`})
}

// invented are names that models make up.
var invented = []string{
	"s__echo", "multi_tool_use.parallel", "functions.s__echo", "browser tabs open", "$lookup", " s__echo ", strings.Repeat("x", 80), "7zip",
	"поиск",
}

// vendor is a fake of a provider that refuses what the provider refuses.
type vendor struct {
	kind, model string
	// check returns what is wrong with a request, "" for nothing.
	check func(body map[string]any) string
	// call streams an answer with one call, and say one with a text.
	call func(id, name, arguments string) string
	say  string
	// messages is the name of the conversation in a request, if it is not "messages".
	messages string
	// play responds with an answer, if it is no stream of events.
	play func(pieces ...string) http.HandlerFunc
	// other responds to requests that are no calls.
	other map[string]http.HandlerFunc
}

// respond responds with an answer.
func (v *vendor) respond(pieces ...string) http.HandlerFunc {
	if v.play != nil {
		return v.play(pieces...)
	}
	return stream(pieces...)
}

func (v *vendor) serve(t *testing.T, calls *int) http.HandlerFunc {
	conversation := cmp.Or(v.messages, "messages")
	return func(w http.ResponseWriter, r *http.Request) {
		if other := v.other[r.URL.Path]; other != nil {
			other(w, r)
			return
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if wrong := v.check(body); wrong != "" {
			t.Errorf("refused: %s", wrong)
			refuse(400, fmt.Sprintf(`{"error":{"type":"invalid_request_error","message":%q}}`, wrong))(w, r)
			return
		}
		messages := list(body[conversation])
		last, _ := json.Marshal(messages[len(messages)-1])
		if !strings.Contains(string(last), "turn ") { // a result
			v.respond(v.say)(w, r)
			return
		}
		name := invented[*calls%len(invented)]
		*calls++
		v.respond(v.call(fmt.Sprintf("call_%d", *calls%7), name, `{"text":"\ud83d\ude80","id":`+bigID+`}`))(w, r)
	}
}

// TestFiftyTurnsWithStrictProviders has a conversation of 50 turns, each with one call and its result, with odd tools, invented names,
// repeated call ids, large numbers, and characters that are cut between two pieces.
func TestFiftyTurnsWithStrictProviders(t *testing.T) {
	for name, v := range vendors() {
		t.Run(name, func(t *testing.T) {
			calls := 0
			srv := httptest.NewServer(v.serve(t, &calls))
			t.Cleanup(srv.Close)
			client := provide(t, v.kind, srv.URL)
			req := &inferencev1.GenerateRequest{Model: "test/" + v.model, Tools: oddTools()}
			for turn := range 50 {
				req.Messages = append(req.Messages, inferencetest.User(fmt.Sprintf("turn %d", turn)))
				answers(t, client, req, invented[turn%len(invented)])
				if t.Failed() {
					t.Fatalf("turn %d", turn)
				}
			}
		})
	}
}

// answers has a turn: a call of a tool, its result, and the final text.
func answers(t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest, name string) {
	t.Helper()
	for range 2 {
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		if w := got.Finished.GetWarnings(); len(w) != 1 || !strings.Contains(w[0], "s__none") {
			t.Fatalf("warnings %q", w)
		}
		m := &turnv1.Message{
			Role: turnv1.Role_ROLE_ASSISTANT, Reasoning: got.Finished.GetReasoning(), ToolCalls: got.Finished.GetToolCalls(),
			Verbatim: got.Finished.GetVerbatim(), Model: got.Finished.GetModel(),
		}
		if text := got.Finished.GetText(); text != "" {
			m.Content = []*turnv1.ContentPart{inferencetest.Text(text)}
		}
		req.Messages = append(req.Messages, m)
		if len(m.GetToolCalls()) == 0 {
			if got.Finished.GetText() != "ship it 🚀!" {
				t.Fatalf("says %q", got.Finished.GetText())
			}
			return
		}
		c := m.GetToolCalls()[0]
		if c.GetTool() != name || c.GetArgumentsJson() != `{"text":"\ud83d\ude80","id":`+bigID+`}` {
			t.Fatalf("calls %v, want %s", c, name)
		}
		req.Messages = append(req.Messages, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: c.GetCallId(), Tool: c.GetTool(), Content: []*turnv1.ContentPart{inferencetest.Text("no such tool")}, IsError: true,
		}})
	}
	t.Fatal("no text after the result")
}
