package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// cacheMarkers are what a request says of caching, which moves.
var cacheMarkers = regexp.MustCompile(`,?"cache_control":\{"type":"ephemeral"\}|,?\{"cachePoint":\{"type":"default"\}\}`)

// promptOf returns the parts of a request in the order in which providers read them: tools and instructions, then the content of the
// conversation, each part after its role. Everything else comes first: it must not change either.
func promptOf(t *testing.T, body string) []string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(cacheMarkers.ReplaceAll([]byte(body), nil), &fields); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var out []string
	for name, conversation := range fields {
		if !slices.Contains([]string{"messages", "input", "contents"}, name) {
			continue
		}
		var messages []map[string]json.RawMessage
		if err := json.Unmarshal(conversation, &messages); err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			out = append(out, contentsOf(t, m)...)
		}
		delete(fields, name)
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{string(rest)}, out...)
}

// contentsOf returns the blocks of a message, each with the role and what else the message has.
func contentsOf(t *testing.T, m map[string]json.RawMessage) []string {
	t.Helper()
	for _, name := range []string{"content", "parts"} {
		var blocks []json.RawMessage
		if bytes.HasPrefix(m[name], []byte("[")) && json.Unmarshal(m[name], &blocks) == nil {
			delete(m, name)
			rest, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, b := range blocks {
				out = append(out, string(rest)+string(b))
			}
			return out
		}
	}
	whole, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(whole)}
}

// TestEachRequestExtendsTheOneBefore: what a provider has read of a request it finds at the beginning of the next, byte for byte, cache
// markers aside. The conversations have turns, rounds of tools, parallel calls, failures, and ids that repeat.
func TestEachRequestExtendsTheOneBefore(t *testing.T) {
	const turns = 50
	for kind, v := range dialects(t) {
		t.Run(kind, func(t *testing.T) {
			answers := make([]string, 0, 2*turns)
			for n := range turns {
				answers = append(answers, v.call(fmt.Sprintf("call_%d", n%3), "s__echo", `{"text":"🚀"}`), v.say)
			}
			asked := 0
			f, client := v.open(t, func() string { asked++; return answers[asked-1] })
			req := &inferencev1.GenerateRequest{Model: "test/" + v.model, Instructions: "Be brief.", Tools: oddTools()}
			for n := range turns {
				req.Messages = append(req.Messages, inferencetest.User(fmt.Sprintf("turn %d", n)))
				got, err := inferencetest.Ask(t.Context(), t, client, req)
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, answered(got.Finished))
				for _, c := range got.Finished.GetToolCalls() {
					req.Messages = append(req.Messages, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
						CallId: c.GetCallId(), Tool: c.GetTool(), Content: []*turnv1.ContentPart{inferencetest.Text("done")}, IsError: n%2 == 0,
					}})
				}
				if n%5 == 0 { // the user says more while the tool runs
					req.Messages = append(req.Messages, inferencetest.User("and be quick"))
				}
				got, err = inferencetest.Ask(t.Context(), t, client, req)
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, answered(got.Finished))
			}
			bodies := f.chats()
			if len(bodies) != 2*turns {
				t.Fatalf("%d requests", len(bodies))
			}
			before := promptOf(t, bodies[0])
			for n, body := range bodies[1:] {
				now := promptOf(t, body)
				if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
					t.Fatalf("request %d does not begin with the one before:\n%s\n\n%s", n+2, strings.Join(before, "\n"), strings.Join(now, "\n"))
				}
				before = now
			}
		})
	}
}
