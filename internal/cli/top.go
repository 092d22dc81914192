package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/top"
)

func topCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "top", Short: "Watch what runs: sessions, turns, waits and budgets",
		Long: "Show the sessions with an active turn, the turns that run, wait or are queued, what waits for people, and budgets, and draw\n" +
			"them again every two seconds until Ctrl-C. Without a terminal, or with -o json, print them once.",
		Args: cobra.NoArgs, RunE: run(a, runTop),
	}
	cmd.Flags().Duration("interval", 2*time.Second, "time between two reads")
	cmd.Flags().Bool("once", false, "print once")
	return cmd
}

func runTop(c *call) error {
	every, err := c.cmd.Flags().GetDuration("interval")
	if err != nil || every < 100*time.Millisecond {
		return app.Usage("--interval is at least 100ms")
	}
	if !c.format.Plain() {
		_, raw, err := c.frame(c.ctx)
		if err != nil {
			return err
		}
		return output.Value(c.Out, c.format, raw)
	}
	read := func(ctx context.Context) (top.Frame, error) {
		frame, _, err := c.frame(ctx)
		return frame, err
	}
	if c.Terminal && flag(c.cmd, "once") != "true" {
		return top.Run(c.ctx, c.App, every, read, c.paint())
	}
	frame, err := read(c.ctx)
	if err != nil {
		return err
	}
	return top.Once(c.Out, frame, c.paint())
}

// frame reads what top shows, as tables and as one JSON object.
func (c *call) frame(ctx context.Context) (top.Frame, json.RawMessage, error) {
	const limit = 50 // rows of a table
	var frame top.Frame
	now, all, counts := time.Now(), map[string][]json.RawMessage{}, []string{}
	health, err := c.health(ctx)
	if err != nil {
		return frame, nil, err
	}
	add := func(title string, n noun, queries ...url.Values) error {
		t := top.Table{Title: title, Header: n.header}
		for _, query := range queries {
			items, more, err := c.client.List(ctx, n.path, n.plural, query, limit)
			if err != nil {
				return err
			}
			if status := query.Get("status"); len(queries) > 1 {
				counts = append(counts, fmt.Sprintf("%d %s", len(items), status))
			}
			all[n.plural], t.More = append(all[n.plural], items...), t.More || more
			for _, raw := range items {
				_, row, err := n.read(raw, now)
				if err != nil {
					return err
				}
				t.Rows = append(t.Rows, row)
			}
		}
		frame.Tables = append(frame.Tables, t)
		return nil
	}
	status := func(s string) url.Values { return url.Values{"status": {s}} }
	for _, t := range []struct {
		title   string
		noun    noun
		queries []url.Values
	}{
		{"TURNS", turns(), []url.Values{status("running"), status("waiting"), status("queued")}},
		{"WAITING FOR PEOPLE", approvals(), []url.Values{status("pending")}},
		{"ACTIVE SESSIONS", sessions(), []url.Values{{"active": {"true"}}}},
		{"BUDGETS", budgets(), []url.Values{{}}},
	} {
		if err := add(t.title, t.noun, t.queries...); err != nil {
			return frame, nil, err
		}
	}
	frame.Head = append([]string{fmt.Sprintf("%s  %s  turns: %s  %s", c.client.Server(), health[0], strings.Join(counts, ", "),
		now.Format(time.TimeOnly))}, health[1:]...)
	raw, err := json.Marshal(all)
	return frame, raw, err
}

// health returns the server's status, and a line for each check that fails.
func (c *call) health(ctx context.Context) ([]string, error) {
	_, raw, err := c.client.Probe(ctx, "/readyz")
	if err != nil {
		return nil, err
	}
	var ready struct {
		Status string
		Causes map[string]struct{ Cause, Action string }
	}
	if err := json.Unmarshal(raw, &ready); err != nil {
		return nil, fmt.Errorf("%s: the answer is not what a Windlass server says: %w", c.client.Server(), err)
	}
	lines := []string{ready.Status}
	for _, name := range slices.Sorted(maps.Keys(ready.Causes)) {
		lines = append(lines, fmt.Sprintf("%s: %s. %s", name, ready.Causes[name].Cause, ready.Causes[name].Action))
	}
	return lines, nil
}
