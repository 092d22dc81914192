package connection

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
)

// logLevels is the lowest level of log messages that was asked for. The zero value is ready for use.
type logLevels struct {
	mu    sync.Mutex
	isSet bool
	rank  int
}

// setLogLevel has a server of the old era send log messages from the given level on, empty for none. The level is one for the whole
// connection, so it is only ever lowered.
func (c *Connection) setLogLevel(ctx context.Context, level string) {
	rank := notice.Rank(level)
	if !c.info.logging || rank < 0 {
		return
	}
	c.levels.mu.Lock()
	defer c.levels.mu.Unlock()
	if c.levels.isSet && c.levels.rank <= rank {
		return
	}
	if _, err := c.request(ctx, mcp.MethodSetLogLevel, map[string]any{"level": level}); err != nil {
		c.log.DebugContext(ctx, "tool server did not take a log level", "server_id", c.spec.ID, "error", c.describe(err))
		return
	}
	c.levels.isSet, c.levels.rank = true, rank
}
