package rpc_test

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestAUserHasSoManyOpenStreamsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := rpctest.ServeAs(t, "sessions", func(s grpc.ServiceRegistrar) {
			sessionsv1.RegisterTurnServiceServer(s, watched{})
		}, rpctest.WithPrincipal(nil), rpctest.WithUserStreams(2))
		turns := sessionsv1.NewTurnServiceClient(conn)
		open := func(p *policyv1.Principal) (context.CancelFunc, error) {
			ctx, cancel := context.WithCancel(authn.With(t.Context(), p))
			stream, err := turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: "trn_1"})
			if err == nil {
				_, err = stream.Recv()
			}
			return cancel, err
		}
		wantOpen := func(p *policyv1.Principal) context.CancelFunc {
			t.Helper()
			cancel, err := open(p)
			if err != nil {
				t.Errorf("%s: %v", p.GetSubject(), err)
			}
			return cancel
		}
		ada, bob, worker := authn.User("ada", "ada"), authn.User("bob", "bob"), authn.Service("worker")
		first := wantOpen(ada)
		defer wantOpen(ada)()
		refused, err := open(ada)
		refused()
		if f := fault.From(err); f.Code != codes.ResourceExhausted || f.Todo == "" {
			t.Errorf("the third stream: %v", err)
		}
		defer wantOpen(bob)()
		for range 3 { // those of roles are made for many users
			defer wantOpen(worker)()
		}
		first()
		synctest.Wait()
		defer wantOpen(ada)()
		if refused, err = open(ada); err == nil {
			t.Error("more streams after one was closed and another one opened")
		}
		refused()
	})
}
