// Package top has the command that shows what runs, over and over on a terminal.
package top

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
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
)

// Command returns "windlass top".
func Command(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "top", Short: "Watch what runs: sessions, turns, waits and budgets",
		Long: "Show the sessions with an active turn, the turns that run, wait or are queued, what waits for people, and budgets, and draw\n" +
			"them again every two seconds until Ctrl-C. Without a terminal, or with -o json, print them once.",
		Args: cobra.NoArgs, RunE: r.Run(runTop),
	}
	cmd.Flags().Duration("interval", 2*time.Second, "time between two reads")
	cmd.Flags().Bool("once", false, "print once")
	return cmd
}

func runTop(c *command.Call) error {
	every, err := c.Cmd.Flags().GetDuration("interval")
	if err != nil || every < 100*time.Millisecond {
		return app.Usage("--interval is at least 100ms")
	}
	if !c.Format.Plain() {
		_, raw, err := readFrame(c.Ctx, c)
		if err != nil {
			return err
		}
		return output.Value(c.Out, c.Format, raw)
	}
	read := func(ctx context.Context) (Frame, error) {
		frame, _, err := readFrame(ctx, c)
		return frame, err
	}
	if c.Terminal && c.Flag("once") != "true" {
		return Run(c.Ctx, c.App, every, read, c.Paint())
	}
	frame, err := read(c.Ctx)
	if err != nil {
		return err
	}
	return Once(c.Out, frame, c.Paint())
}

// readFrame reads what top shows, as tables and as one JSON object.
func readFrame(ctx context.Context, c *command.Call) (Frame, json.RawMessage, error) {
	const limit = 50 // rows of a table
	var frame Frame
	now, all, counts := time.Now(), map[string][]json.RawMessage{}, []string{}
	ready, err := readiness(ctx, c)
	if err != nil {
		return frame, nil, err
	}
	add := func(title string, n command.Noun, queries ...url.Values) error {
		t := Table{Title: title, Header: n.Header}
		for _, query := range queries {
			items, more, err := c.Client.List(ctx, n.List, query, limit)
			if err != nil {
				return err
			}
			if status := query.Get("status"); len(queries) > 1 {
				counts = append(counts, fmt.Sprintf("%d %s", len(items), status))
			}
			_, rows, err := n.Rows(items, now)
			if err != nil {
				return err
			}
			all[n.Plural], t.Rows, t.More = append(all[n.Plural], items...), append(t.Rows, rows...), t.More || more
		}
		frame.Tables = append(frame.Tables, t)
		return nil
	}
	status := func(s string) url.Values { return url.Values{"status": {s}} }
	for _, t := range []struct {
		title, noun string
		queries     []url.Values
	}{
		{"TURNS", "turn", []url.Values{status("running"), status("waiting"), status("queued")}},
		{"WAITING FOR PEOPLE", "approval", []url.Values{status("pending")}},
		{"ACTIVE SESSIONS", "session", []url.Values{{"active": {"true"}}}},
		{"BUDGETS", "budget", []url.Values{{}}},
	} {
		if err := add(t.title, c.Noun(t.noun), t.queries...); err != nil {
			return frame, nil, err
		}
	}
	frame.Head = append([]string{fmt.Sprintf("%s  %s  turns: %s  %s", c.Client.Server(), ready[0], strings.Join(counts, ", "),
		now.Format(time.TimeOnly))}, ready[1:]...)
	raw, err := json.Marshal(all)
	return frame, raw, err
}

// readiness returns the server's status, and a line for each check that fails.
func readiness(ctx context.Context, c *command.Call) ([]string, error) {
	_, raw, err := c.Client.Probe(ctx, "/readyz")
	if err != nil {
		return nil, err
	}
	var ready struct {
		Status string
		Causes map[string]struct{ Cause, Action string }
	}
	if err := client.Decode(raw, &ready); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Client.Server(), err)
	}
	lines := []string{ready.Status}
	for _, name := range slices.Sorted(maps.Keys(ready.Causes)) {
		lines = append(lines, fmt.Sprintf("%s: %s. %s", name, ready.Causes[name].Cause, ready.Causes[name].Action))
	}
	return lines, nil
}
