package parts_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) {
	media.Main()
	testmain.Verify(m)
}
