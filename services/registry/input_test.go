package registry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// asksTwice is a tool that asks two questions in turn and answers with both answers.
func asksTwice(_ context.Context, req *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
	if !req.GetCanAsk() {
		return nil, errors.New("nobody can be asked")
	}
	said := req.GetAnswer().GetContent().GetFields()["said"].GetStringValue()
	switch string(req.GetAnswer().GetState()) {
	case "":
		return nil, &asking{&mcpbridgev1.InputRequired{Message: "one?", SchemaJson: "{}", State: []byte("1")}}
	case "1":
		return nil, &asking{&mcpbridgev1.InputRequired{Message: "two?", State: []byte("2:" + said)}}
	default:
		return answer(fmt.Sprintf("%s then %s (%s)", req.GetAnswer().GetState(), said, req.GetAnswer().GetAction())), nil
	}
}

func TestAToolAsks(t *testing.T) {
	for _, name := range []string{"notes__read", "notes__put", "notes__send"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(config())
			r.notes()
			w.bridge.set(func() { w.bridge.call = asksTwice })
			req := r.waiting(name, "k")
			say := func(s story, text string) *registryv1.CallToolRequest {
				return with(req, func(req *registryv1.CallToolRequest) {
					req.Input = &registryv1.InputAnswer{Action: "accept", Content: args(t, map[string]any{"said": text}), State: s.input.GetState()}
				})
			}
			one := r.call(t.Context(), req)
			if one.input.GetMessage() != "one?" || one.completed != nil || one.executing == nil {
				t.Fatalf("story %+v", one)
			}
			if row := r.row("k"); enum.Name(row.GetState()) != "waiting" || row.GetAttempts() != 1 || row.GetIsError() || row.GetCode() != "" {
				t.Errorf("row %v", row)
			}
			if again := r.call(t.Context(), req); again.input.GetMessage() != "one?" || len(w.bridge.seen()) != 1 {
				t.Errorf("a repeated request gets the question, and nothing is sent: %+v", again)
			}
			r.stop() // another registry is running when the answer arrives
			r = w.start(config())
			first := say(one, "A")
			two := r.call(t.Context(), first)
			if two.input.GetMessage() != "two?" {
				t.Fatalf("story %+v", two)
			}
			if again := r.call(t.Context(), first); again.input.GetMessage() != "two?" || len(w.bridge.seen()) != 2 {
				t.Errorf("the first answer is none to the second question: %+v", again)
			}
			end := r.call(t.Context(), say(two, "B"))
			if end.text() != "2:A then B (accept)" {
				t.Errorf("story %+v", end)
			}
			if row := r.row("k"); enum.Name(row.GetState()) != "done" || row.GetAttempts() != 3 {
				t.Errorf("row %v", row)
			}
			if again := r.call(t.Context(), first); again.text() != end.text() || len(w.bridge.seen()) != 3 {
				t.Errorf("an answer to a call that is done: %+v", again)
			}
			for _, sent := range w.bridge.seen() {
				if sent.GetMeta()["windlass/idempotency_key"] != "k" {
					t.Errorf("another key: %v", sent.GetMeta())
				}
			}
		})
	}
}

func TestASourceThatMustNotAsk(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	src := r.notes()
	if _, err := r.sources.UpdateSource(t.Context(),
		&registryv1.UpdateSourceRequest{Source: &registryv1.Source{Id: src.GetId(), Elicitation: "off"}}); err != nil {
		t.Fatal(err)
	}
	r.call(t.Context(), r.waiting("notes__read", "k"))
	if w.bridge.seen()[0].GetCanAsk() {
		t.Error("it may ask")
	}
	_, err := r.sources.UpdateSource(t.Context(),
		&registryv1.UpdateSourceRequest{Source: &registryv1.Source{Id: src.GetId(), Elicitation: "sometimes"}})
	if err == nil {
		t.Error("nonsense is accepted")
	}
}

// meshTools waits for the mesh's own tools: a starting registry syncs them in the background.
func (r *replica) meshTools() {
	r.w.t.Helper()
	testpoll.Until(r.w.t, "the mesh's tools are offered", func() bool {
		_, err := r.tools.GetTool(r.w.t.Context(), &registryv1.GetToolRequest{Name: "mesh__ask_user"})
		return err == nil
	})
}

func TestAskUser(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.meshTools()
	for globs, offered := range map[string]bool{"*": false, "*__ask_user": false, "mesh__*": true, "mesh__ask_user": true, "mesh__a*": true} {
		resp, err := r.calls.ResolveTools(t.Context(),
			&registryv1.ResolveToolsRequest{Globs: []string{globs, "nothing"}, Principal: r.request("mesh__ask_user", "x").GetPrincipal()})
		found := false
		for _, tool := range resp.GetTools() {
			found = found || tool.GetName() == "mesh__ask_user"
		}
		if err != nil || found != offered {
			t.Errorf("%s: offered %t, %v", globs, found, err)
		}
	}
	for _, row := range []struct{ name, args, schema, action, content, text string }{
		{
			"text", `{"question":"why?"}`,
			`{"additionalProperties":false,"properties":{"answer":{"type":"string"}},"required":["answer"],"type":"object"}`,
			"accept", `{"answer":"because"}`, "because",
		},
		{
			"a choice", `{"question":"why?","options":["a","b"]}`,
			`{"additionalProperties":false,"properties":{"answer":{"enum":["a","b"],"type":"string"}},"required":["answer"],"type":"object"}`,
			"accept", `{"answer":"b"}`, "b",
		},
		{
			"a form", `{"question":"why?","schema":{"type":"object","required":["n"]}}`, `{"required":["n"],"type":"object"}`, "accept", `{"n":3}`,
			`{"n":3}`,
		},
		{"declined", `{"question":"why?"}`, "", "decline", `{}`, "The user does not want to answer."},
		{"nobody answered", `{"question":"why?"}`, "", "cancel", `{}`, "The user did not answer."},
	} {
		req := r.waiting("mesh__ask_user", row.name)
		req.ArgumentsJson = row.args
		s := r.call(t.Context(), req)
		if s.input.GetMessage() != "why?" || row.schema != "" && s.input.GetSchemaJson() != row.schema {
			t.Errorf("%s: %+v", row.name, s)
		}
		content := args(t, nil)
		if err := content.UnmarshalJSON([]byte(row.content)); err != nil {
			t.Fatal(err)
		}
		req.Input = &registryv1.InputAnswer{Action: row.action, Content: content, State: s.input.GetState()}
		s = r.call(t.Context(), req)
		if s.text() != row.text || s.completed.GetResult().GetIsError() != (row.action != "accept") {
			t.Errorf("%s: %+v %q", row.name, s, s.text())
		}
		if again := r.call(t.Context(), req); again.text() != row.text || !again.completed.GetCached() {
			t.Errorf("%s, again: %+v", row.name, again)
		}
	}
}
