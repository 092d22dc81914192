package sessions_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestOneSessionForOneKey sends the same request several times at once, and once more later.
func TestOneSessionForOneKey(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		req := &sessionsv1.CreateSessionRequest{AgentId: "assistant", Title: "first", IdempotencyKey: "k"}
		made := make([]string, 8)
		var all errgroup.Group
		for i := range made {
			all.Go(func() error {
				ses, err := k.sessions.CreateSession(t.Context(), req)
				made[i] = ses.GetId()
				return err
			})
		}
		must(t, all.Wait())
		again, err := k.sessions.CreateSession(t.Context(), req)
		must(t, err)
		for _, id := range made {
			if id != again.GetId() {
				t.Errorf("made %q, and later %s", made, again.GetId())
				break
			}
		}
		_, err = k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "assistant", IdempotencyKey: "k"})
		wantFault(t, err, "idempotency_conflict")
		other, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "assistant", Title: "first"})
		must(t, err)
		list, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{})
		must(t, err)
		if other.GetId() == again.GetId() || len(list.GetSessions()) != 2 {
			t.Errorf("without a key: %s beside %s; there are %d sessions", other.GetId(), again.GetId(), len(list.GetSessions()))
		}
	})
}
