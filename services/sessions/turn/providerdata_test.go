package turn_test

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

const canary = "canary-2f9d61"

// carrying returns a context of Owner's call with provider data that is sealed for a caller.
func carrying(k *sessionstest.Kit, caller string) context.Context {
	k.Helper()
	d, err := providerdata.Parse(`{"token":"` + canary + `"}`)
	k.Must(err)
	sealed, err := k.Sealer.Seal(d, providerdata.OfCaller(authn.User(caller)))
	k.Must(err)
	return metadata.NewIncomingContext(k.Ctx(), metadata.Pairs(providerdata.Metadata, string(sealed)))
}

// given accepts a turn with provider data.
func given(k *sessionstest.Kit, ses store.Session) store.Turn {
	k.Helper()
	v, err := k.Turns.Create(carrying(k, sessionstest.Owner), turn.Create{SessionID: ses.ID, Text: "hello"})
	k.Must(err)
	return v.Turn
}

// wantData checks that sealed data is the test's, for a turn.
func wantData(k *sessionstest.Kit, sealed []byte, turnID string) {
	k.Helper()
	d, err := k.Sealer.Open(sealed, providerdata.OfTurn(authn.DefaultTenant, turnID))
	k.Must(err)
	if value, ok := d.Text("token"); !ok || value.Reveal() != canary || bytes.Contains(sealed, []byte(canary)) {
		k.Errorf("the sealed data of turn %s is not what was sent", turnID)
	}
}

func TestProviderDataOfATurnComesWithEachLease(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first, second := given(k, ses), given(k, ses)
	wantData(k, k.Read(first.ID).ProviderData, first.ID)
	wantData(k, k.Read(second.ID).ProviderData, second.ID) // it waits in the queue
	k.Begin(first, &turnv1.Surface{})
	lease := k.Lease(first, "infer-1")
	wantData(k, lease.ProviderData, first.ID)
	// The worker dies; another one claims the step.
	k.Must(k.Steps.Release(k.Worker(), step.Held{TurnID: first.ID, Step: "infer-1", Fence: lease.Fence}, 0, nil))
	again := k.Lease(first, "infer-1")
	wantData(k, again.ProviderData, first.ID)
	if lease := k.NewTurn("without"); lease.ProviderData != nil {
		t.Error("a turn without has some")
	}
}

func TestProviderDataGoesWithTheEndOfATurn(t *testing.T) {
	for name, end := range map[string]func(*sessionstest.Kit, store.Turn){
		"answered": func(k *sessionstest.Kit, t store.Turn) {
			k.Begin(t, &turnv1.Surface{})
			k.Answer(t, "infer-1", "hi")
			k.Finish(k.Read(t.ID))
		},
		"failed": func(k *sessionstest.Kit, t store.Turn) {
			k.Begin(t, &turnv1.Surface{})
			k.Commit(t, "finish", func(c *step.Commit) {
				c.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Error: &turnv1.TurnError{Code: "internal"}}
			})
		},
		"cancelled before it began": func(k *sessionstest.Kit, t store.Turn) {
			k.Must(k.Turns.Cancel(k.Ctx(), t, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := sessionstest.New(t, sessionstest.Config{})
			turn := given(k, k.Session())
			end(k, turn)
			if got := k.Read(turn.ID); !got.Ended() || got.ProviderData != nil {
				t.Errorf("ended: %t; %d bytes are left", got.Ended(), len(got.ProviderData))
			}
		})
	}
}

func TestASubAgentGetsTheProviderDataOfItsParent(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	k.Agent("helper", agentspec.Spec{})
	k.Agent(sessionstest.Assistant, agentspec.Spec{Agents: []string{"helper"}})
	parent := given(k, k.Session())
	k.Begin(parent, &turnv1.Surface{})
	c, err := k.Children.Create(k.Worker(), child.Create{
		ParentID: parent.ID, Step: "tool-1.1", Fence: k.Lease(parent, "tool-1.1").Fence, CallID: "c1", AgentID: "helper", Input: "help me",
	})
	k.Must(err)
	sealed := k.Read(c.TurnID).ProviderData
	wantData(k, sealed, c.TurnID)
	if _, err := k.Sealer.Open(sealed, providerdata.OfTurn(authn.DefaultTenant, parent.ID)); err == nil {
		t.Error("the parent's turn opens the child's data")
	}
}

func TestProviderDataOfAnotherCallerIsRefused(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	_, err := k.Turns.Create(carrying(k, "eve"), turn.Create{SessionID: k.Session().ID, Text: "hello"})
	if fault.CodeOf(err) != "failed_precondition" {
		t.Errorf("got %v", err)
	}
}
