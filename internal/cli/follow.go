package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// watchList prints a list, and then every two seconds each row that is new or has changed, until Ctrl-C.
func (n noun) watchList(c *call, query url.Values, limit int) error {
	if c.format != output.Table {
		return app.Usage("--watch prints a table; -o %s cannot be watched", c.format)
	}
	seen := map[string][]string{}
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for first := true; ; first = false {
		items, _, err := c.client.List(c.ctx, n.path, n.plural, query, limit)
		switch {
		case c.ctx.Err() != nil:
			return nil
		case err != nil && (first || !unreachable(err)):
			return err
		case err != nil:
			c.note("%s", app.Explain(err))
		}
		rows, err := n.changes(seen, items, time.Now())
		if err != nil {
			return err
		}
		if err := n.printChanges(c, rows, first); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-c.ctx.Done():
			return nil
		}
	}
}

// printChanges prints rows below those that were printed, and above all the header.
func (n noun) printChanges(c *call, rows [][]string, first bool) error {
	if len(rows) == 0 && !first {
		return nil
	}
	var b strings.Builder
	if err := output.Rows(&b, slices.Clone(n.header), rows, c.paint()); err != nil {
		return err
	}
	text := b.String()
	if !first {
		_, text, _ = strings.Cut(text, "\n")
	}
	_, err := io.WriteString(c.Out, text)
	return err
}

// changes returns the rows of items that are not as seen before, and remembers them. That an item is older now is no change.
func (n noun) changes(seen map[string][]string, items []json.RawMessage, now time.Time) ([][]string, error) {
	var out [][]string
	for _, raw := range items {
		id, row, err := n.read(raw, now)
		if err != nil {
			return nil, err
		}
		kept := slices.Clone(row)
		for i, column := range n.header {
			if column == "AGE" || column == "UPDATED" || column == "SYNCED" || column == "EXPIRES" {
				kept[i] = ""
			}
		}
		if !slices.Equal(kept, seen[id]) {
			seen[id] = kept
			out = append(out, row)
		}
	}
	return out, nil
}

// waitTurn waits for the end of a turn, and prints it. The exit code is that of a chat.
func waitTurn(c *call) error {
	for {
		var t sessionsv1.Turn
		raw, err := c.client.Do(c.ctx, client.Request{Path: turns().path + client.Path(c.args[0]), Query: url.Values{"wait": {"60s"}}}, &t)
		if err != nil {
			return err
		}
		switch t.GetStatus() {
		case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
			if err := turns().printOne(c, raw); err != nil {
				return err
			}
			return turnResult(t.GetId(), &turnv1.TurnEnded{Status: t.GetStatus(), Error: t.GetError(), LimitReached: t.GetLimitReached()})
		}
	}
}

func openCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "open ID", Short: "Show the timeline of a turn in a browser", Args: cobra.ExactArgs(1),
		Long: "Print the URL of a turn's timeline in the console, and open it in a browser if this is a terminal.",
		RunE: run(a, func(c *call) error {
			if _, err := c.client.Do(c.ctx, client.Request{Path: turns().path + client.Path(c.args[0])}, nil); err != nil {
				return err
			}
			page := c.client.Server() + "/turns" + client.Path(c.args[0])
			if _, err := fmt.Fprintln(c.Out, page); err != nil || !c.Terminal {
				return err
			}
			opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
			if opener == nil {
				opener = []string{"xdg-open"}
			}
			opens := exec.CommandContext(c.ctx, opener[0], append(opener[1:], page)...) //nolint:gosec // the server's address is the user's
			_ = opens.Run()                                                             // the URL is printed
			return nil
		}),
	}
	return cmd
}
