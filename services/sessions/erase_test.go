package sessions_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

// ledgerFake stands for the registry's ledger: away at first, then with a call that is still under way, then it forgets.
type ledgerFake struct {
	mu         sync.Mutex
	away, open int
	forgotten  []string
	done       chan struct{} // closed when it has forgotten, unless nil
}

func (f *ledgerFake) ForgetTurns(_ context.Context, in *registryv1.ForgetTurnsRequest,
	_ ...grpc.CallOption,
) (*registryv1.ForgetTurnsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.away > 0:
		f.away--
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the registry is away")
	case f.open > 0:
		f.open--
		return &registryv1.ForgetTurnsResponse{Open: 1}, nil
	}
	f.forgotten = append(f.forgotten, in.GetTurnIds()...)
	if f.done != nil {
		close(f.done)
	}
	return &registryv1.ForgetTurnsResponse{}, nil
}

// What other services have of a deleted session's turns is erased there, also when the process that was asked to delete it did
// nothing more.
func TestADeletedSessionIsErasedElsewhere(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, idle: true})
		turn := k.newTurn("hello")
		w := k.worker(turn)
		w.begin()
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
		_, err := k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: turn.GetSessionId(), Permanent: true})
		must(t, err)
		if len(k.dispatcher.forgotten) > 0 || len(k.policy.forgotten) > 0 {
			t.Fatal("a service that does not run erases")
		}
		next := newKit(t, options{
			db: k.db, bus: k.bus, ledger: &ledgerFake{away: 1, open: 1, done: make(chan struct{})},
			cfg: sessions.Config{SweepInterval: 10 * time.Millisecond},
		})
		<-next.ledger.done
		if left, err := sqldb.One(t.Context(), k.db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM turn_inputs"); err != nil || left != 0 {
			t.Errorf("%d inputs are left, %v", left, err)
		}
		next.ledger.mu.Lock()
		defer next.ledger.mu.Unlock()
		if !slices.Contains(next.ledger.forgotten, turn.GetId()) {
			t.Error("the registry was not asked")
		}
		next.dispatcher.await(t, func(d *dispatcher) bool { return slices.Contains(d.forgotten, turn.GetId()) })
		next.policy.mu.Lock()
		defer next.policy.mu.Unlock()
		if !slices.Contains(next.policy.forgotten, turn.GetId()) {
			t.Error("policy was not asked")
		}
	})
}
