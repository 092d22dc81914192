// Package clitest runs commands against a fake server with recorded answers.
package clitest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/libs/canon"
)

// Answer is the fake server's response to one request.
type Answer struct {
	Status int // 200 when 0
	Body   string
}

// Answers are responses by "METHOD path?query".
type Answers map[string]Answer

// Server is a server with recorded responses, and the command line that calls it.
type Server struct {
	// URL is the server's address.
	URL string
	// Answers are its responses; other requests are answered with 404.
	Answers Answers
	// Hook, if there is one, sees each request first, and reports whether it answered.
	Hook func(http.ResponseWriter, *http.Request) bool

	t    *testing.T
	root func(*app.App) *cobra.Command

	mu       sync.Mutex
	requests []string
}

// New starts a server. root builds the command line, for example with Nouns.
func New(t *testing.T, root func(*app.App) *cobra.Command, answers Answers) *Server {
	t.Helper()
	s := &Server{Answers: answers, t: t, root: root}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Nouns returns a command line that has some nouns only.
func Nouns(nouns ...command.Noun) func(*app.App) *cobra.Command {
	return Commands(func(r *command.Runner) []*cobra.Command { return append(r.Nouns(), r.Get(), r.List()) }, nouns...)
}

// Commands returns a command line that has some commands only, and knows some nouns.
func Commands(commands func(*command.Runner) []*cobra.Command, nouns ...command.Noun) func(*app.App) *cobra.Command {
	return func(a *app.App) *cobra.Command {
		r := command.New(a, nouns...)
		root := &cobra.Command{Use: "windlass"}
		root.AddCommand(commands(r)...)
		r.Finish(root)
		return root
	}
}

// Command returns a command line that has one command only.
func Command(build func(*command.Runner) *cobra.Command) func(*app.App) *cobra.Command {
	return Commands(func(r *command.Runner) []*cobra.Command { return []*cobra.Command{build(r)} })
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	key := r.Method + " " + r.URL.RequestURI()
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(key+" "+sorted(body)))
	hook := s.Hook
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if hook != nil && hook(w, r) {
		return
	}
	a, ok := s.Answers[key]
	if !ok {
		a = Answer{404, `{"code":"not_found","detail":"nothing at ` + strings.ReplaceAll(key, `"`, "'") + `"}`}
	}
	w.Header().Set("Content-Type", "application/json")
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = w.Write([]byte(a.Body))
}

// sorted returns a JSON object with its names in order, and other text as it is.
func sorted(body []byte) string {
	object, err := canon.Parse(body)
	if len(body) == 0 || err != nil {
		return string(body)
	}
	return string(object.JSON())
}

// Requests returns the requests so far, as "METHOD path?query body", where names of fields are in order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Seen reports whether a request was made.
func (s *Server) Seen(request string) bool { return slices.Contains(s.Requests(), request) }

// Result is the output of a command.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a command against the server.
func (s *Server) Run(stdin string, args ...string) Result {
	s.t.Helper()
	return s.With(func(*app.App) {}, stdin, args...)
}

// With runs a command whose environment is changed first.
func (s *Server) With(change func(*app.App), stdin string, args ...string) Result {
	s.t.Helper()
	var out, errs bytes.Buffer
	a := &app.App{
		Version: "1.2.3", Self: "windlass", In: strings.NewReader(stdin), Out: &out, Err: &errs,
		Environ: []string{"WINDLASS_SERVER=" + s.URL},
	}
	change(a)
	code := a.Execute(s.t.Context(), s.root(a), args)
	return Result{code, out.String(), errs.String()}
}

// OnWrite calls First before the first write.
type OnWrite struct {
	io.Writer
	First func()
}

// Write implements io.Writer.
func (w *OnWrite) Write(p []byte) (int, error) {
	if w.First != nil {
		first := w.First
		w.First = nil
		first()
	}
	return w.Writer.Write(p)
}

// InTurn is a Hook that answers each request with the next body, and those after the last with 404.
func InTurn(bodies ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if len(bodies) == 0 {
			return false
		}
		_, _ = w.Write([]byte(bodies[0]))
		bodies = bodies[1:]
		return true
	}
}
