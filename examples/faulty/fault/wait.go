package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

const (
	pollEvery   = 10 * time.Millisecond
	defaultWait = time.Minute
)

type slowInput struct {
	effectInput
	ReleaseFile string `json:"release_file,omitempty" jsonschema:"return as soon as this file exists"`
	MS          int    `json:"ms,omitempty" jsonschema:"return after this many milliseconds anyway, 60000 by default"`
}

// addWaiting registers slow_once, and the same of the other effect classes: the effect is the ledger line, written on arrival, so that a
// test can kill any party during the call, release it by creating the file, and count lines.
func addWaiting(s *server.MCPServer, ledger *Ledger) {
	for name, hints := range map[string]mcp.ToolAnnotation{
		"slow_once":       toolserver.Once("Slow effect"),
		"slow_idempotent": toolserver.Idempotent("Slow repeatable effect", false),
		"slow_read":       toolserver.ReadOnly("Slow read"),
	} {
		toolserver.Add(s, name, "Record the call in the ledger at once, then wait for a file or a time, then return. A cancel is recorded too.",
			hints, slow(ledger))
	}
}

func slow(ledger *Ledger) toolserver.Handler[slowInput, effectOutput] {
	return func(ctx context.Context, req mcp.CallToolRequest, in slowInput) (effectOutput, error) {
		if err := ledger.Record(req, in.CallID, in.Argument); err != nil {
			return effectOutput{}, err
		}
		wait := defaultWait
		if in.MS > 0 {
			wait = time.Duration(in.MS) * time.Millisecond
		}
		if err := waitForFile(ctx, in.ReleaseFile, wait); err != nil {
			return effectOutput{}, errors.Join(fmt.Errorf("cancelled while waiting: %w", err), ledger.Cancel(req, in.CallID))
		}
		return effectOutput(in.effectInput), nil
	}
}

// waitForFile returns when the file exists or after the time; the end of ctx is an error. An empty path never exists.
func waitForFile(ctx context.Context, path string, atMost time.Duration) error {
	deadline := time.Now().Add(atMost)
	for time.Now().Before(deadline) {
		if path != "" {
			if _, err := os.Stat(path); err == nil {
				return nil
			}
		}
		if err := toolserver.Pause(ctx, min(pollEvery, time.Until(deadline))); err != nil {
			return err
		}
	}
	return nil
}
