package parts_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) {
	child.Main(media.Work())
	testmain.Verify(m)
}
