package plan_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

const (
	reactText = turnv1.Strategy_STRATEGY_REACT_TEXT
	planFirst = turnv1.Strategy_STRATEGY_PLAN
	automatic = turnv1.Strategy_STRATEGY_AUTO
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var in = steptest.In
