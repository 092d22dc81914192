package step_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var in = contract.TurnInput{Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "helper"}

// world is a mesh with one turn, and a runner on it.
type world struct {
	*turntest.Mesh
	t      *testing.T
	runner *step.Runner
}

func newWorld(t *testing.T, agent *sessionsv1.Agent, tools ...*registryv1.Tool) *world {
	t.Helper()
	w := &world{Mesh: turntest.New(t, tools...), t: t}
	w.Journal.Add(in, agent, "hello")
	w.runner = w.another("worker-1")
	return w
}

// another is one more worker.
func (w *world) another(owner string) *step.Runner {
	w.t.Helper()
	r, err := step.New(step.Config{Owner: owner, LeaseTTL: 300 * time.Millisecond, CommitPatience: 2 * time.Second}, w.Deps())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// do does a step that must succeed.
func (w *world) do(ref *turnv1.StepRef) *turnv1.StepOutcome {
	w.t.Helper()
	out, err := w.runner.Do(w.t.Context(), in, ref)
	if err != nil {
		w.t.Fatalf("%s: %v", ref.GetKey(), err)
	}
	return out
}

// walk drives the turn to its end as the workflow does, one step after the other, and gives all outcomes.
func (w *world) walk() []*turnv1.StepOutcome {
	w.t.Helper()
	var all []*turnv1.StepOutcome
	w.each(func(_ *turnv1.StepRef, o *turnv1.StepOutcome) { all = append(all, o) })
	return all
}

// each is walk that gives each step with its outcome.
func (w *world) each(f func(*turnv1.StepRef, *turnv1.StepOutcome)) {
	w.t.Helper()
	var all []*turnv1.StepOutcome
	for {
		d := engine.Next(engine.State{Outcomes: all, Now: time.Now()})
		if d.Done {
			return
		}
		for _, ref := range d.Steps {
			o := w.do(ref)
			f(ref, o)
			all = append(all, o)
		}
	}
}

// upTo gives the outcomes of the steps before the first of a kind, and that step.
func (w *world) upTo(kind turnv1.StepKind) *turnv1.StepRef {
	w.t.Helper()
	var all []*turnv1.StepOutcome
	for {
		d := engine.Next(engine.State{Outcomes: all, Now: time.Now()})
		if d.Done {
			w.t.Fatalf("no step of kind %v", kind)
		}
		for _, ref := range d.Steps {
			if ref.GetKind() == kind {
				return ref
			}
			all = append(all, w.do(ref))
		}
	}
}

// kinds lists a turn's durable events by the name of their payload.
func (w *world) kinds() []string {
	var names []string
	for _, e := range w.Journal.Events(in.TurnID) {
		names = append(names, payload(e))
	}
	return names
}

func payload(e *turnv1.Event) string {
	m := e.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("data")).Name())
}

// transient collects what the bus tells of the session beside the journal.
func (w *world) transient() *bus.Subscription {
	w.t.Helper()
	sub, err := w.Bus.Subscribe(contract.DeltaSubject(in.Tenant, in.SessionID), 1024)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Bus.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(sub.Close)
	return sub
}

// next gives the next transient event.
func (w *world) next(sub *bus.Subscription) *turnv1.Event {
	w.t.Helper()
	select {
	case m := <-sub.C():
		e := &turnv1.Event{}
		if err := proto.Unmarshal(m.Data, e); err != nil {
			w.t.Fatal(err)
		}
		return e
	case <-time.After(20 * time.Second):
		w.t.Fatal("no transient event came")
		return nil
	}
}

// async does a step beside the test.
func async(ctx context.Context, r *step.Runner, ref *turnv1.StepRef) <-chan result {
	c := make(chan result, 1)
	go func() {
		out, err := r.Do(ctx, in, ref)
		c <- result{out, err}
	}()
	return c
}

type result struct {
	out *turnv1.StepOutcome
	err error
}

func (w *world) wait(c <-chan result) result {
	w.t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(20 * time.Second):
		w.t.Fatal("the step does not come to an end")
		return result{}
	}
}

func text(m *turnv1.Message) string {
	if len(m.GetContent()) == 0 {
		return ""
	}
	return m.GetContent()[0].GetText()
}
