package compact_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var in = steptest.In
