package infer_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

func TestMain(m *testing.M) {
	child.Main(media.Work())
	testmain.Verify(m)
}

var in = steptest.In
