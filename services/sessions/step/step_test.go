package step_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const invalid = faultv1.Reason_REASON_INVALID_ARGUMENT

func newKit(t *testing.T) *sessionstest.Kit { return sessionstest.New(t, sessionstest.Config{}) }

func held(own store.Turn, key string, l *step.Lease) step.Held {
	return step.Held{TurnID: own.ID, Step: key, Fence: l.Fence}
}
