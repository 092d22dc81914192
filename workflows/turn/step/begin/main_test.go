package begin_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var in = steptest.In
