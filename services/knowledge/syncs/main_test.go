package syncs_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }
