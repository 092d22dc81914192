package parse_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

func TestMain(m *testing.M) {
	child.Main(parse.Work())
	testmain.Verify(m)
}
