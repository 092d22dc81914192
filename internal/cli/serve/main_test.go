package serve

import (
	"bytes"
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// readyWriter sends the first line that is written.
type readyWriter struct{ line chan []byte }

// Write implements io.Writer.
func (w *readyWriter) Write(p []byte) (int, error) {
	select {
	case w.line <- bytes.Clone(p):
	default:
	}
	return len(p), nil
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
