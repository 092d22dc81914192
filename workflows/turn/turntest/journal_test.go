package turntest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// The sessions service passes the same suite, in services/sessions/api.
func TestJournal(t *testing.T) {
	executiontest.Run(t, func(t *testing.T) executiontest.Service {
		j := &journal{mesh: turntest.New(t), now: time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC)}
		j.mesh.Journal.SetClock(func() time.Time {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.now
		})
		return j
	})
}

// journal is the fake in executiontest.
type journal struct {
	mesh *turntest.Mesh
	mu   sync.Mutex
	now  time.Time
}

func (j *journal) Client() executionv1.ExecutionServiceClient {
	return j.mesh.Deps().Sessions
}

func (j *journal) NewTurn(input string) string {
	in := contract.TurnInput{Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "assistant"}
	j.mesh.Journal.Add(in, &sessionsv1.Agent{}, input)
	return in.TurnID
}

func (j *journal) Steer(turn, text string) { j.mesh.Journal.Steer(turn, text) }

func (j *journal) Approve(turn, step string) {
	j.mesh.Journal.Answer(turn, step, turnv1.Verdict_VERDICT_APPROVED)
}

func (j *journal) Events(turn string) []*turnv1.Event { return j.mesh.Journal.Events(turn) }

func (j *journal) Advance(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.now = j.now.Add(d)
}
