// Package event has the commands for the events of the whole mesh.
package event

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/canon"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass event".
func Noun() command.Noun {
	return command.Noun{
		Name: "event", Plural: "events", Short: "Events: what happened to sources, tools, agents, turns and approvals",
		List: &sessionsv1.ListEventsRequest{}, More: commands,
		Header: []string{"TIME", "TYPE", "SUBJECT", "DATA"},
		Filters: append(filters(),
			command.Filter{Name: "until", Usage: "only events before this time, or before so long ago", Time: true},
			command.Filter{Name: "oldest-first", Usage: "list the oldest events first", Bool: true},
		),
		Read: command.Typed((*eventv1.CloudEvent).GetId, func(m *eventv1.CloudEvent, _ time.Time) []string {
			row := cells(m)
			return append(row[:3], output.Short(row[3], 2*output.CellWidth))
		}),
	}
}

// filters are those of lists and of the stream.
func filters() []command.Filter {
	return []command.Filter{
		{Name: "type", Query: "types", Usage: "only these types or patterns, with commas between, such as 'dev.windlass.source.*'"},
		{Name: "source", Usage: "only events of this source or pattern, such as /windlass/registry"},
		{Name: "subject", Usage: "only events about this subject or pattern"},
		{Name: "since", Usage: "only events from this time on, or from so long ago, such as 2h", Time: true},
	}
}

func commands(r *command.Runner) []*cobra.Command {
	follow := &cobra.Command{
		Use: "follow", Short: "Print events as they happen, until Ctrl-C",
		Long:    "Print events from now on, or from a time or a cursor. A broken connection is resumed without gap or repetition.",
		Example: "  windlass event follow --type 'dev.windlass.source.*'\n  windlass event follow --since 24h -o json",
		Args:    cobra.NoArgs, RunE: r.Run(followEvents),
	}
	command.FilterFlags(follow, filters())
	follow.Flags().String("after", "", "begin after this cursor")
	return []*cobra.Command{follow}
}

// followEvents prints a stream.
func followEvents(c *command.Call) error {
	if c.Format != output.Table && c.Format != output.JSON {
		return app.Usage("events are printed as lines, or as JSON lines with -o json; not %q", c.Format)
	}
	query, err := c.Query(filters())
	if err != nil {
		return err
	}
	err = c.Client.WatchDomain(c.Ctx, client.Watch{
		Path: "/v1/events:watch", Query: query, After: c.Flag("after"), Notice: c.StreamBroke,
	}, lines(c.Out, c.Format == output.JSON))
	if c.Ctx.Err() != nil {
		return nil //nolint:nilerr // the user ended it
	}
	return err
}

// lines returns a function that writes events one per line, as text or as JSON.
func lines(w io.Writer, asJSON bool) func(raw json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if asJSON {
			_, err := fmt.Fprintf(w, "%s\n", raw)
			return err
		}
		var m eventv1.CloudEvent
		if err := client.Decode(raw, &m); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, output.Line(strings.Join(cells(&m), "  ")))
		return err
	}
}

// cells returns the cells of a domain event: time, type, subject, and the fields of its data that are set.
func cells(m *eventv1.CloudEvent) []string {
	var out []string
	fields := m.GetData().GetFields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name].AsInterface().(type) {
		case string:
			if v != "" && v != m.GetSubject() {
				out = append(out, name+"="+v)
			}
		case float64:
			if v != 0 {
				out = append(out, name+"="+canon.Number(fields[name]))
			}
		case bool:
			if v {
				out = append(out, name)
			}
		}
	}
	return []string{m.GetTime().AsTime().Local().Format(time.DateTime), m.GetType(), m.GetSubject(), strings.Join(out, " ")}
}
