// Package model is a model server for benchmarks.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// Names of the server's two models, and of the agents that use them.
const (
	Instant = "instant"
	Paced   = "paced"
)

// Tool is the tool that the models call.
const Tool = "calc__evaluate"

// Pace is how fast a model answers.
type Pace struct {
	// First is the time until the first token, Next for each further one.
	First, Next time.Duration
}

// Server is an OpenAI-compatible server. It answers a user message with some words and a call of the calculator, in as many rounds as the
// message asks for, and the last tool result with words only. It keeps the last request of each kind, so that the floor can send exactly
// the same.
type Server struct {
	// URL is where it is served.
	URL string

	tokens int
	pace   Pace
	server *http.Server

	mu   sync.Mutex
	seen map[Step][]byte
}

// Step is one model call of a turn.
type Step struct {
	// Model is its name.
	Model string
	// Rounds is the number of tool calls in the turn, Results the number of results in this request.
	Rounds, Results int
}

// request holds the fields of a request that the server reads.
type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// New serves on its own port until Close. Each answer has the given number of tokens.
func New(tokens int, p Pace) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	m := &Server{tokens: tokens, pace: p, URL: "http://" + l.Addr().String() + "/v1", seen: map[Step][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.serve)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = m.server.Serve(l) }() // ends with close
	return m, nil
}

// Close ends the server.
func (m *Server) Close() error {
	if err := m.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the model server: %w", err)
	}
	return nil
}

// Body returns the last request of a kind.
func (m *Server) Body(s Step) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[s] == nil {
		return nil, fmt.Errorf("no request of model %s was seen yet", s.Model)
	}
	return m.seen[s], nil
}

func (m *Server) serve(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	raw, err := io.ReadAll(r.Body)
	var req request
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil || len(req.Messages) == 0 {
		http.Error(w, "want messages", http.StatusBadRequest)
		return
	}
	question, results := req.turn()
	s := Step{Model: req.Model, Rounds: roundsOf(question), Results: results}
	m.mu.Lock()
	m.seen[s] = raw
	m.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{ctx: r.Context(), w: w, rc: http.NewResponseController(w), start: begin}
	if req.Model == Paced {
		out.pace = m.pace
	}
	if s.Results >= s.Rounds {
		out.words(m.tokens)
		out.finish("stop", m.tokens)
		return
	}
	out.words(m.tokens - 1)
	out.call(expression(question), results)
	out.finish("tool_calls", m.tokens)
}

// turn returns the user's last message, and how many tool results follow it.
func (r request) turn() (question string, results int) {
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			question, results = fmt.Sprint(m.Content), 0
		case "tool":
			results++
		}
	}
	return question, results
}

var (
	sum    = regexp.MustCompile(`\d+ \+ \d+`)
	inMany = regexp.MustCompile(`in (\d+) rounds`)
)

// roundsOf returns how many rounds the message asks for, 1 if it does not say.
func roundsOf(question string) int {
	found := inMany.FindStringSubmatch(question)
	if found == nil {
		return 1
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return 1
	}
	return n
}

// expression returns the expression to calculate.
func expression(question string) string {
	found := sum.FindString(question)
	if found == "" {
		return "1 + 1"
	}
	return found
}

// stream writes an answer piece by piece, each at its time after the request: a model elsewhere does not fall behind because this machine
// is busy.
type stream struct {
	ctx   context.Context // of the request that is answered
	w     http.ResponseWriter
	rc    *http.ResponseController
	pace  Pace
	start time.Time
	sent  int
}

func (s *stream) words(n int) {
	for i := range n {
		s.chunk(fmt.Sprintf(`{"content":"word%d "}`, i+1), "null")
	}
}

// call asks for the calculation, in each round for a little more: the mesh stops a model that repeats itself.
func (s *stream) call(expr string, round int) {
	if round > 0 {
		expr += fmt.Sprintf(" + %d", round)
	}
	args, err := json.Marshal(fmt.Sprintf(`{"expression":%q}`, expr))
	if err != nil {
		panic(err) // a string has a JSON form
	}
	id := strings.ReplaceAll(expr, " + ", "_")
	s.chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%s","type":"function","function":{"name":%q,"arguments":%s}}]}`, id, Tool,
		args), "null")
}

func (s *stream) finish(reason string, tokens int) {
	s.write(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`,
		reason))
	s.write(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":"bench","choices":[],"usage":{"prompt_tokens":100,`+
		`"completion_tokens":%d,"total_tokens":%d}}`, tokens, 100+tokens))
	s.write("[DONE]")
	_ = s.rc.Flush() // a client that is gone needs no answer
}

func (s *stream) chunk(delta, finish string) {
	due := s.pace.First + time.Duration(s.sent)*s.pace.Next
	s.sent++
	if wait := time.Until(s.start.Add(due)); wait > 0 {
		if backoff.Sleep(s.ctx, wait) != nil {
			return
		}
	}
	s.write(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`,
		delta, finish))
	_ = s.rc.Flush() // as above
}

func (s *stream) write(data string) { fmt.Fprintf(s.w, "data: %s\n\n", data) }
