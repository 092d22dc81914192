package mcpbridge_test

import (
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testnpm"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// accept returns an answer to a question.
func accept(t testing.TB, q *mcpbridgev1.InputRequired, content map[string]any) *mcpbridgev1.InputAnswer {
	t.Helper()
	s, err := structpb.NewStruct(content)
	if err != nil {
		t.Fatal(err)
	}
	return &mcpbridgev1.InputAnswer{Action: "accept", Content: s, State: q.GetState()}
}

// TestAToolAsks answers two questions in turn: the bridge keeps no state in between, so another bridge can continue.
func TestAToolAsks(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *mcpbridgev1.Server, _ *toolServer) {
		if s.GetName() == "sse" {
			t.Skip("the library cannot answer over SSE")
		}
		b := newBridge(t)
		res, name := b.ask(t, s, "interview", `{}`, nil)
		if name.GetMessage() != "Your name?" || !strings.Contains(name.GetSchemaJson(), `"name"`) || len(name.GetState()) == 0 {
			t.Fatalf("got %v, %v", res, name)
		}
		b = newBridge(t)
		res, colour := b.ask(t, s, "interview", `{}`, accept(t, name, map[string]any{"name": "Ada"}))
		if colour.GetMessage() != "Your colour?" {
			t.Fatalf("got %v, %v", res, colour)
		}
		b = newBridge(t)
		res, more := b.ask(t, s, "interview", `{}`, accept(t, colour, map[string]any{"colour": "red"}))
		if more != nil || res.GetIsError() || !strings.Contains(text(res), "Ada") || !strings.Contains(text(res), "red") {
			t.Errorf("got %v, %v", res, more)
		}
	})
}

func TestWhatBecomesOfQuestions(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *mcpbridgev1.Server, _ *toolServer) {
		if s.GetName() == "sse" {
			t.Skip("the library cannot answer over SSE")
		}
		b := newBridge(t)
		_, name := b.ask(t, s, "interview", `{}`, nil)
		for _, action := range []string{"decline", "cancel"} {
			res, more := b.ask(t, s, "interview", `{}`, &mcpbridgev1.InputAnswer{Action: action, State: name.GetState()})
			if more != nil || text(res) != "no name: "+action {
				t.Errorf("%s: got %v, %v", action, res, more)
			}
		}
		if res := b.must(t, s, "interview", `{}`); !res.GetIsError() {
			t.Errorf("a call that cannot wait: got %v", res)
		}
		res, more := b.ask(t, s, "interview", `{"also":"url"}`, nil)
		if more != nil || !res.GetIsError() {
			t.Errorf("a page of others: got %v, %v", res, more)
		}
		var several sync.WaitGroup
		for range 3 { // calls of a server that asks over one stream run one by one
			several.Go(func() {
				if _, q := b.ask(t, s, "interview", `{}`, nil); q.GetMessage() != "Your name?" {
					t.Errorf("at the same time: got %v", q)
				}
			})
		}
		several.Wait()
		stream, err := b.CallTool(t.Context(), &mcpbridgev1.CallToolRequest{
			Server: s, Tool: "interview",
			Answer: &mcpbridgev1.InputAnswer{Action: "cancel", State: []byte("x")},
		})
		if err == nil {
			_, err = stream.Recv()
		}
		if fault.CodeOf(err) != "invalid_argument" {
			t.Errorf("a foreign state: %v", err)
		}
	})
}

// TestSeveralQuestionsAtOnce: in the new protocol they are one form.
func TestSeveralQuestionsAtOnce(t *testing.T) {
	tools := newToolServer()
	s := &mcpbridgev1.Server{Id: "src_http", Url: serve(t, tools.modern()).URL}
	b := newBridge(t)
	_, q := b.ask(t, s, "interview", `{"also":"colour"}`, nil)
	if q.GetMessage() != "colour: Your colour?\nname: Your name?" || !strings.Contains(q.GetSchemaJson(), `"required":["colour","name"]`) {
		t.Fatalf("got %v", q)
	}
	res, _ := b.ask(t, s, "interview", `{"also":"colour"}`, accept(t, q, map[string]any{
		"name": map[string]any{"name": "Ada"}, "colour": map[string]any{"colour": "red"},
	}))
	if text(res) != "map[name:Ada] map[colour:red]" {
		t.Errorf("got %v", res)
	}
}

func TestReferenceServerAsks(t *testing.T) {
	for _, mode := range []string{"stdio", "streamableHttp"} {
		t.Run(mode, func(t *testing.T) {
			s := &mcpbridgev1.Server{Id: "src_everything", Name: mode}
			if mode == "stdio" {
				s.Command = append(testnpm.Program(t, "server-everything"), "stdio")
			} else {
				address := freeAddress(t)
				testnpm.Everything(t, mode, address)
				s.Url = "http://" + address + "/mcp"
			}
			b := newBridge(t)
			const tool = "trigger-elicitation-request"
			res, q := b.ask(t, s, tool, `{}`, nil)
			if q.GetMessage() == "" || !strings.Contains(q.GetSchemaJson(), `"name"`) {
				t.Fatalf("got %v, %v", res, q)
			}
			res, more := b.ask(t, s, tool, `{}`, accept(t, q, map[string]any{"name": "Ada"}))
			if more != nil || res.GetIsError() || !strings.Contains(strings.ToLower(res.String()), "ada") {
				t.Errorf("got %v, %v", res, more)
			}
			if res, _ = b.ask(t, s, tool, `{}`, &mcpbridgev1.InputAnswer{Action: "decline", State: q.GetState()}); !strings.Contains(text(res),
				"declined") {
				t.Errorf("declined: got %v", res)
			}
		})
	}
}
