package harness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Model is an OpenAI-compatible server with scripted answers, which can be stopped in the middle.
type Model struct {
	t      testing.TB
	server *httptest.Server

	mu     sync.Mutex
	script func(call int, messages []any) Answer
	calls  int
}

// Answer is one streamed answer.
type Answer struct {
	// Words are sent one chunk each.
	Words []string
	// Calls are tool calls, sent after the words.
	Calls []Call
	// Stop, when set, is called before the first word, then after each word with the number sent so far; it may block until the test
	// goes on or the client is gone (done is closed then).
	Stop func(sent int, done <-chan struct{})
	// Raw, when set, answers instead: a server that refuses, hangs, breaks off or talks nonsense.
	Raw http.HandlerFunc
	// PromptTokens is what the answer says of the tokens read, 10 when 0.
	PromptTokens int
	// Sent, when set, is called when the answer's end is about to be written to a client that is still there.
	Sent func()
}

// Call is one tool call of an answer.
type Call struct {
	ID, Tool string
	Args     any
}

// NewModel starts a server that asks script for each answer; call counts from 1 over all requests.
func NewModel(t testing.TB, script func(call int, messages []any) Answer) *Model {
	m := &Model{t: t, script: script}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// Close has the model go away. It may be called again.
func (m *Model) Close() { m.server.CloseClientConnections(); m.server.Close() }

// Env makes windlass up use the model.
func (m *Model) Env() []string {
	return []string{"OPENAI_API_KEY=unused", "OPENAI_BASE_URL=" + m.URL(), "WINDLASS_MODEL=openai/model"}
}

// URL is the base URL for a provider of kind openai.
func (m *Model) URL() string { return m.server.URL + "/v1" }

// Calls counts the requests so far.
func (m *Model) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Messages []any `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.calls++
	call := m.calls
	m.mu.Unlock()
	answer := m.script(call, body.Messages)
	if answer.Raw != nil {
		answer.Raw(w, r)
		return
	}

	w.Header().Set("Content-Type", "text/event-stream")
	flusher, _ := w.(http.Flusher)
	send := func(delta JSON, finish any) {
		chunk, err := json.Marshal(JSON{"id": "c", "object": "chat.completion.chunk", "model": "test", "choices": []any{
			JSON{"index": 0, "delta": delta, "finish_reason": finish},
		}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk)
		flusher.Flush()
	}
	if answer.Stop != nil {
		answer.Stop(0, r.Context().Done())
	}
	for i, word := range answer.Words {
		send(JSON{"content": word}, nil)
		if answer.Stop != nil {
			answer.Stop(i+1, r.Context().Done())
		}
		if r.Context().Err() != nil {
			return
		}
	}
	finish := "stop"
	for i, c := range answer.Calls {
		finish = "tool_calls"
		args, err := json.Marshal(c.Args)
		if err != nil {
			panic(err)
		}
		send(JSON{"tool_calls": []any{JSON{
			"index": i, "id": c.ID, "type": "function",
			"function": JSON{"name": c.Tool, "arguments": string(args)},
		}}}, nil)
	}
	if answer.Sent != nil && r.Context().Err() == nil {
		answer.Sent()
	}
	send(JSON{}, finish)
	fmt.Fprintf(w, "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n",
		cmp.Or(answer.PromptTokens, 10), len(answer.Words)+1)
	flusher.Flush()
}
