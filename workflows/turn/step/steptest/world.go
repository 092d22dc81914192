// Package steptest sets up one turn on the fakes of turntest, for tests of steps.
package steptest

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// In identifies the turn of a world.
var In = contract.TurnInput{Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "helper"}

// World is a mesh with one turn, and a runner on it.
type World struct {
	*turntest.Mesh
	T      *testing.T
	Runner *runner.Runner
}

// New returns a world whose turn, with the input "hello", was accepted and has no steps yet.
func New(t *testing.T, agent *sessionsv1.Agent, tools ...*registryv1.Tool) *World {
	t.Helper()
	w := &World{Mesh: turntest.New(t, tools...), T: t}
	w.Journal.Add(In, agent, "hello")
	w.Runner = w.Another("worker-1")
	return w
}

// Another returns the runner of another worker.
func (w *World) Another(owner string) *runner.Runner {
	w.T.Helper()
	r, err := runner.New(runner.Config{Owner: owner, LeaseTTL: 300 * time.Millisecond, CommitPatience: 2 * time.Second}, w.Deps())
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// Do runs a step, which must succeed, and returns its outcome.
func (w *World) Do(ref *turnv1.StepRef) *turnv1.StepOutcome {
	w.T.Helper()
	out, err := w.Runner.Do(w.T.Context(), In, ref)
	if err != nil {
		w.T.Fatalf("%s: %v", ref.GetKey(), err)
	}
	return out
}

// Walk runs the turn to its end, one step after the other as the workflow does, and returns all outcomes.
func (w *World) Walk() []*turnv1.StepOutcome {
	w.T.Helper()
	var all []*turnv1.StepOutcome
	w.Each(func(_ *turnv1.StepRef, o *turnv1.StepOutcome) { all = append(all, o) })
	return all
}

// Each is Walk, and calls f with each step and its outcome.
func (w *World) Each(f func(*turnv1.StepRef, *turnv1.StepOutcome)) {
	w.T.Helper()
	var all []*turnv1.StepOutcome
	for {
		d := engine.Next(engine.State{Outcomes: all, Now: time.Now()})
		if d.Done {
			return
		}
		for _, ref := range d.Steps {
			o := w.Do(ref)
			f(ref, o)
			all = append(all, o)
		}
	}
}

// UpTo runs the steps before the first one of a kind, and returns that one without running it.
func (w *World) UpTo(kind turnv1.StepKind) *turnv1.StepRef {
	w.T.Helper()
	var all []*turnv1.StepOutcome
	for {
		d := engine.Next(engine.State{Outcomes: all, Now: time.Now()})
		if d.Done {
			w.T.Fatalf("no step of kind %v", kind)
		}
		for _, ref := range d.Steps {
			if ref.GetKind() == kind {
				return ref
			}
			all = append(all, w.Do(ref))
		}
	}
}

// Kinds returns the payload names of the turn's durable events, in order.
func (w *World) Kinds() []string {
	var names []string
	for _, e := range w.Journal.Events(In.TurnID) {
		names = append(names, Payload(e))
	}
	return names
}

// Payload returns the name of an event's payload field.
func Payload(e *turnv1.Event) string {
	m := e.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("data")).Name())
}

// Transient subscribes to the transient events of the session.
func (w *World) Transient() *bus.Subscription {
	w.T.Helper()
	sub, err := w.Bus.Subscribe(contract.DeltaSubject(In.Tenant, In.SessionID), 1024)
	if err != nil {
		w.T.Fatal(err)
	}
	if err := w.Bus.Flush(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(sub.Close)
	return sub
}

// Next returns the next transient event.
func (w *World) Next(sub *bus.Subscription) *turnv1.Event {
	w.T.Helper()
	select {
	case m := <-sub.C():
		e := &turnv1.Event{}
		if err := proto.Unmarshal(m.Data, e); err != nil {
			w.T.Fatal(err)
		}
		return e
	case <-time.After(20 * time.Second):
		w.T.Fatal("no transient event came")
		return nil
	}
}

// Async runs a step in the background.
func Async(ctx context.Context, r *runner.Runner, ref *turnv1.StepRef) <-chan Result {
	c := make(chan Result, 1)
	go func() {
		out, err := r.Do(ctx, In, ref)
		c <- Result{out, err}
	}()
	return c
}

// Result is what a step in the background returned.
type Result struct {
	Out *turnv1.StepOutcome
	Err error
}

// Wait waits for a step in the background and returns its result.
func (w *World) Wait(c <-chan Result) Result {
	w.T.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(20 * time.Second):
		w.T.Fatal("the step does not end")
		return Result{}
	}
}

// Text returns the first content part of a message as text, "" if it has none.
func Text(m *turnv1.Message) string {
	if len(m.GetContent()) == 0 {
		return ""
	}
	return m.GetContent()[0].GetText()
}
