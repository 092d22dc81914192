package bank

import (
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/command"
)

const (
	// pollEvery is the pause between two questions about progress.
	pollEvery = 300 * time.Millisecond
	// barWidth is in characters.
	barWidth = 30
)

// bar shows progress in one line of a terminal. Elsewhere it shows nothing.
type bar struct {
	call  *command.Call
	drawn bool
}

func newBar(c *command.Call) *bar { return &bar{call: c} }

// draw shows done of total; a total of 0 is not known.
func (b *bar) draw(done, total int32, what string) {
	if !b.call.Terminal {
		return
	}
	b.drawn = true
	_, _ = fmt.Fprint(b.call.Err, "\r\x1b[K"+barText(done, total, what)) // best effort
}

// barText is a line of progress.
func barText(done, total int32, what string) string {
	if total <= 0 {
		return fmt.Sprintf("%s %d", what, done)
	}
	done = min(max(done, 0), total)
	full := int(int64(done) * barWidth / int64(total))
	return fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total, what)
}

// clear takes the line away.
func (b *bar) clear() {
	if b.drawn {
		_, _ = fmt.Fprint(b.call.Err, "\r\x1b[K") // best effort
	}
}

// pause waits until the next question is due.
func (b *bar) pause() error {
	select {
	case <-time.After(pollEvery):
		return nil
	case <-b.call.Ctx.Done():
		b.clear()
		return b.call.Ctx.Err()
	}
}
