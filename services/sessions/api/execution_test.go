package api_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testmain"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// The fake with which workers are tested passes the same suite, in workflows/turn/turntest.
func TestExecution(t *testing.T) {
	executiontest.Run(t, func(t *testing.T) executiontest.Service {
		k := sessionstest.New(t, sessionstest.Config{})
		server := api.NewExecution(api.ExecutionDeps{
			Access: k.Access, Steps: k.Steps, Turns: k.Turns, Waits: k.Waits, Children: k.Children, Conversations: k.Conversations,
			Reruns: k.Reruns, Now: k.Store.Now,
		})
		conn := rpctest.ServeAs(t, "sessions", func(r grpc.ServiceRegistrar) {
			executionv1.RegisterExecutionServiceServer(r, server)
		}, rpctest.WithPrincipal(authn.Service("worker")))
		return &execution{k, executionv1.NewExecutionServiceClient(conn)}
	})
}

// execution is the real service in executiontest.
type execution struct {
	k      *sessionstest.Kit
	client executionv1.ExecutionServiceClient
}

func (e *execution) Client() executionv1.ExecutionServiceClient { return e.client }

func (e *execution) NewTurn(input string) string {
	t := e.k.NewTurn(input)
	e.k.Dispatch()
	return t.ID
}

func (e *execution) Steer(id, text string) {
	e.k.Helper()
	_, err := e.k.Turns.Steer(e.k.Ctx(), id, text, nil, store.Once{})
	e.k.Must(err)
}

func (e *execution) Approve(id, step string) {
	e.k.Helper()
	waits, err := e.k.Store.WaitsOf(context.Background(), authn.DefaultTenant, id)
	e.k.Must(err)
	for _, w := range waits {
		if w.StepKey == step {
			_, err := e.k.Approvals.Decide(e.k.Ctx(), approval.Decision{ID: w.ID, Approve: true})
			e.k.Must(err)
		}
	}
}

func (e *execution) Events(id string) []*turnv1.Event {
	e.k.Helper()
	return slices.DeleteFunc(e.k.Events(e.k.Read(id).SessionID), func(ev *turnv1.Event) bool { return ev.GetTurnId() != id })
}

func (e *execution) Advance(d time.Duration) { e.k.Clock.Advance(d) }
