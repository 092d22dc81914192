package question

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// maxLine limits one line in bytes: the maximum input of a turn.
const maxLine = 1 << 20

// Lines reads lines in the background, since a read cannot be interrupted.
func Lines(ctx context.Context, r io.Reader) (lines <-chan string, failed <-chan error) {
	out, end := make(chan string), make(chan error, 1)
	go func() {
		defer close(out)
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, maxLine)
		mark := app.Mark // the first line may begin with it
		for ; sc.Scan(); mark = "" {
			select {
			case out <- strings.TrimPrefix(sc.Text(), mark):
			case <-ctx.Done():
				end <- nil
				return
			}
		}
		end <- sc.Err()
	}()
	return out, end
}
