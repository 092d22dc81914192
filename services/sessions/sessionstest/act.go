package sessionstest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Owner is the subject that tests act as unless they say otherwise; Assistant is the agent.
const (
	Owner     = "olga"
	Assistant = "assistant"
)

// Must ends a test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must ends the test with an error.
func (k *Kit) Must(err error) {
	k.Helper()
	Must(k, err)
}

// Object returns a JSON object.
func Object(fields map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err)
	}
	return s
}

// As returns a context in which a person calls.
func (k *Kit) As(subject string, roles ...string) context.Context {
	return authn.With(k.Context(), authn.User(subject, roles...))
}

// Ctx returns a context in which Owner calls.
func (k *Kit) Ctx() context.Context { return k.As(Owner) }

// Worker returns a context in which a worker calls.
func (k *Kit) Worker() context.Context { return authn.With(k.Context(), authn.Service("worker")) }

// WantFault ends the test unless an error has a reason and names the fields.
func (k *Kit) WantFault(err error, reason faultv1.Reason, fields ...string) {
	k.Helper()
	var got []string
	if err != nil {
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Path)
		}
	}
	if fault.ReasonOf(err) != reason || !slices.Equal(got, fields) {
		k.Fatalf("the error is %v with the reason %s about %q, want %s about %q", err, fault.ReasonOf(err), got, reason, fields)
	}
}

// FailWrites has each statement of a kind ("INSERT", "UPDATE", "DELETE") on a table fail until the returned function is called.
func (k *Kit) FailWrites(kind, table string) (heal func()) {
	k.Helper()
	name := "fail_" + kind + "_" + table
	exec := func(statement string) {
		k.Must(k.DB.Write(k.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(k.Context(), tx, statement)
			return err
		}))
	}
	exec(fmt.Sprintf("CREATE TRIGGER %s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, 'the write fails'); END", name, kind, table))
	return func() { exec("DROP TRIGGER " + name) }
}

// Write runs f in a transaction of the journal with the session of a turn locked.
func (k *Kit) Write(turnID string, f func(tx *journal.Tx, t *store.Turn) error) error {
	return k.Journal.Write(k.Worker(), func(tx *journal.Tx) error {
		t, err := tx.LockTurn(authn.DefaultTenant, turnID)
		if err != nil {
			return err
		}
		return f(tx, &t)
	})
}

// Agent makes an agent that may use all tools.
func (k *Kit) Agent(id string, spec agentspec.Spec) store.Agent {
	k.Helper()
	a, err := k.Agents.Create(k.Ctx(), id, spec)
	k.Must(err)
	return a
}

// Session opens a session of Owner with the assistant, which it makes if it is not there.
func (k *Kit) Session() store.Session {
	k.Helper()
	if _, err := k.Agents.Get(k.Ctx(), Assistant, 0); err != nil {
		k.Agent(Assistant, agentspec.Spec{})
	}
	ses, err := k.Sessions.Create(k.Ctx(), session.Spec{AgentID: Assistant}, store.Once{})
	k.Must(err)
	return ses
}

// Turn accepts a turn of a session.
func (k *Kit) Turn(ses store.Session, text string) store.Turn {
	k.Helper()
	v, err := k.Turns.Create(k.Ctx(), turn.Create{SessionID: ses.ID, Text: text})
	k.Must(err)
	return v.Turn
}

// NewTurn accepts a turn in a session of its own.
func (k *Kit) NewTurn(text string) store.Turn {
	k.Helper()
	return k.Turn(k.Session(), text)
}

// Begun accepts a turn in a session of its own, and has its begin step done.
func (k *Kit) Begun(text string) store.Turn {
	k.Helper()
	t := k.NewTurn(text)
	k.Begin(t, &turnv1.Surface{})
	return k.Read(t.ID)
}

// Read reads a turn as it is stored.
func (k *Kit) Read(turnID string) store.Turn {
	k.Helper()
	t, err := k.Store.Turn(k.Context(), authn.DefaultTenant, turnID)
	k.Must(err)
	return t
}

// ReadSession reads a session as it is stored.
func (k *Kit) ReadSession(id string) store.Session {
	k.Helper()
	ses, err := k.Store.Session(k.Context(), authn.DefaultTenant, id)
	k.Must(err)
	return ses
}

// Events reads the journal of a session.
func (k *Kit) Events(sessionID string) (events []*turnv1.Event) {
	k.Helper()
	rows, err := k.Store.Events(k.Context(), authn.DefaultTenant, sessionID, 0, 1000)
	k.Must(err)
	for _, row := range rows {
		e := &turnv1.Event{}
		k.Must(proto.Unmarshal(row.Data, e))
		events = append(events, e)
	}
	return events
}

// Types lists the types of the events of a session.
func (k *Kit) Types(sessionID string) (types []string) {
	k.Helper()
	for _, e := range k.Events(sessionID) {
		types = append(types, e.GetType())
	}
	return types
}

// ClaimOf returns a claim of a step by a worker.
func ClaimOf(t store.Turn, key, owner string) step.Claim {
	parsed, ok := stepkey.Parse(key)
	if !ok {
		panic("no step has the key " + key)
	}
	c := step.Claim{
		TurnID: t.ID, Step: &turnv1.StepRef{Key: key, Kind: parsed.Kind, Title: key}, Owner: owner, TTL: 30 * time.Second, Model: "test/model",
	}
	if parsed.Kind == turnv1.StepKind_STEP_KIND_TOOL {
		c.ToolCall = &turnv1.ToolCallStarted{CallId: "call-" + key, Tool: "calc__add"}
	}
	return c
}

// Lease claims a step, which must be free.
func (k *Kit) Lease(t store.Turn, key string) *step.Lease {
	k.Helper()
	got, err := k.Steps.Claim(k.Worker(), ClaimOf(t, key, "w1"))
	k.Must(err)
	if got.Lease == nil {
		k.Fatalf("the claim of %s got %+v, want a lease", key, got)
	}
	return got.Lease
}

// Commit claims a step and commits it; fill completes what is committed.
func (k *Kit) Commit(t store.Turn, key string, fill func(*step.Commit)) *step.Committed {
	k.Helper()
	c := step.Commit{TurnID: t.ID, Fence: k.Lease(t, key).Fence, Outcome: &turnv1.StepOutcome{Key: key}, Duration: time.Millisecond}
	if fill != nil {
		fill(&c)
	}
	out, err := k.Steps.Commit(k.Worker(), c)
	k.Must(err)
	return out
}

// Begin has the begin step of a turn done, which pins the turn to a surface.
func (k *Kit) Begin(t store.Turn, surface *turnv1.Surface) {
	k.Helper()
	surface.AgentId, surface.Model, surface.BlueprintRevision = t.AgentID, "test/model", 1
	k.Commit(t, stepkey.Begin, func(c *step.Commit) { c.Outcome.Surface = surface })
}

// Answer has a model step done, which says a text and makes calls.
func (k *Kit) Answer(t store.Turn, key, text string, calls ...*turnv1.ToolCall) *step.Committed {
	k.Helper()
	return k.Commit(t, key, func(c *step.Commit) {
		c.Outcome.Usage, c.Outcome.Calls = &turnv1.Usage{InputTokens: 10, OutputTokens: 5, ModelCalls: 1}, nil
		c.Messages = []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text(text), ToolCalls: calls}}
	})
}

// Finish has the finish step of a turn done.
func (k *Kit) Finish(t store.Turn) *step.Committed {
	k.Helper()
	return k.Commit(t, stepkey.Finish, func(c *step.Commit) { c.Ending, c.Inputs = Completed(), t.Inputs })
}

// Completed returns the ending of a turn that is done.
func Completed() *turnv1.Ending {
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: turn.StopEnd}
}

// Wait has a tool step done that ends with a wait, and returns the wait.
func (k *Kit) Wait(t store.Turn, key string, req *store.WaitRequest) store.Wait {
	k.Helper()
	out := k.Commit(t, key, func(c *step.Commit) { c.Wait = req })
	w, err := k.Store.Wait(k.Context(), authn.DefaultTenant, out.Outcome.GetWait().GetId())
	k.Must(err)
	return w
}

// Dispatch takes all turns out of the outbox, as if their workflows were started.
func (k *Kit) Dispatch() {
	k.Helper()
	k.Must(k.Store.Write(k.Context(), func(tx *store.Tx) error {
		now := k.Store.Now()
		taken, err := tx.TakeOutgoing(k.Context(), now, now, 1000, 0)
		if err != nil {
			return err
		}
		for _, row := range taken {
			if err := tx.DropOutgoing(k.Context(), row.Tenant, row.TurnID); err != nil {
				return err
			}
		}
		return nil
	}))
}
