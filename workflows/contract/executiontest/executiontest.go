// Package executiontest is the suite that every ExecutionService passes: the sessions service, and the fake with which the tests of
// workers run. A script is a list of calls on one turn, each with the result that it must have.
package executiontest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Service is an execution service under test, and what clients and people do to its turns.
type Service interface {
	// Client calls the service as a worker does.
	Client() executionv1.ExecutionServiceClient
	// NewTurn accepts a turn in a session of its own and returns its ID. The turn's workflow counts as started.
	NewTurn(input string) string
	// Steer gives a running turn more input.
	Steer(turn, text string)
	// Approve ends the open wait of a step with an approval.
	Approve(turn, step string)
	// Events returns the durable events of a turn, in order.
	Events(turn string) []*turnv1.Event
	// Advance moves the service's clock forward.
	Advance(d time.Duration)
}

// Run runs all scripts, each with a service of its own.
func Run(t *testing.T, open func(t *testing.T) Service) {
	t.Helper()
	for _, group := range [][]script{claimScripts, commitScripts, followScripts, endScripts, conversationScripts, waitScripts} {
		for _, s := range group {
			t.Run(s.name, func(t *testing.T) { s.run(t, open(t)) })
		}
	}
}

// script is a list of calls on one turn, whose input is "hello".
type script struct {
	name string
	rows []row
}

// row is a call and its result as text; see render.go for how results are written.
type row struct {
	call call
	want string
}

// call acts on the turn of a run and returns what came of it.
type call func(r *run) string

// run is a script under way.
type run struct {
	*testing.T
	Service
	client executionv1.ExecutionServiceClient
	turn   string
	// seen counts the events that a row has rendered; those written when the turn was accepted are never rendered.
	seen int
	// first is the seq of the newest event when the turn was accepted.
	first uint32
	// names has the name of each message whose ID a script met, by that ID; waits has the ID of each wait, by the step that began it.
	names, waits map[string]string
}

func (s script) run(t *testing.T, service Service) {
	r := &run{
		T: t, Service: service, client: service.Client(), turn: service.NewTurn("hello"),
		names: map[string]string{}, waits: map[string]string{},
	}
	accepted := r.Events(r.turn)
	if r.seen = len(accepted); r.seen > 0 {
		r.first = accepted[r.seen-1].GetSeq()
	}
	for i, row := range s.rows {
		if got := row.call(r); got != row.want {
			t.Errorf("row %d:\n got %s\nwant %s", i+1, got, row.want)
		}
	}
}

// name returns how a message is written: as the step that wrote it, or as "?" if no script could know it.
func (r *run) name(message string) string {
	if name, ok := r.names[message]; ok {
		return name
	}
	return "?"
}

// lines joins parts that are not empty.
func lines(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}

// when returns a text if a condition holds, "" otherwise.
func when(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
