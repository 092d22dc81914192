package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
)

// DefaultLimit is how many items a list without a --limit flag shows.
const DefaultLimit = 100

// Filter is a flag that becomes a query parameter of the same name, with _ for -.
type Filter struct {
	Name, Usage string
	// Query is the query parameter, if it is not called as the flag.
	Query string
	// Preset is the value without the flag; the value "all" filters nothing then.
	Preset string
	// Enum has the values of the flag, for shells to complete; nil = anything.
	Enum protoreflect.EnumDescriptor
	// Bool means that the flag takes no value; Time that the value is a time, or how long ago that was.
	Bool, Time bool
	// On is what a flag without a value stands for, if that is not true.
	On string
}

// TimeFilters are the filters of a list of things in the order of time.
func TimeFilters(plural string) []Filter {
	return []Filter{
		{Name: "since", Query: "start_time", Usage: "only " + plural + " from this time on, or from so long ago, such as 2h", Time: true},
		{Name: "until", Query: "end_time", Usage: "only " + plural + " before this time, or before so long ago", Time: true},
		{Name: "oldest", Query: "order_by", On: "create_time", Usage: "the oldest first", Bool: true},
	}
}

func (f Filter) values() []string {
	values := enum.Names(f.Enum)
	if f.Preset != "" {
		values = append(values, "all")
	}
	return values
}

// FilterFlags adds filters to a command.
func FilterFlags(cmd *cobra.Command, filters []Filter) {
	for _, f := range filters {
		if f.Bool {
			cmd.Flags().Bool(f.Name, false, f.Usage)
		} else {
			cmd.Flags().String(f.Name, f.Preset, f.Usage)
		}
		if f.Enum != nil { // the flag exists
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(f.values(), cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// Query returns the parameters that the flags of filters stand for.
func (c *Call) Query(filters []Filter) (url.Values, error) {
	query := url.Values{}
	for _, f := range filters {
		v := c.Flag(f.Name)
		if v == "" || v == "false" || f.Preset != "" && v == "all" {
			continue
		}
		if f.Time {
			at, err := c.Time(f.Name)
			if err != nil {
				return nil, err
			}
			v = at
		}
		if f.Bool {
			v = cmp.Or(f.On, v)
		}
		query.Set(cmp.Or(f.Query, strings.ReplaceAll(f.Name, "-", "_")), v)
	}
	return query, nil
}

// Time reads a flag with a time, or how long ago it was, and returns it as the API has it.
func (c *Call) Time(flag string) (string, error) {
	text := c.Flag(flag)
	if ago, err := time.ParseDuration(text); err == nil {
		return c.Now.Add(-ago.Abs()).UTC().Format(time.RFC3339Nano), nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return "", app.Usage("--%s must be a time such as 2026-01-02T15:04:05Z, or how long ago, such as 2h", flag)
	}
	return text, nil
}

func (n Noun) list(c *Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	query, err := c.Query(n.Filters)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		return n.watch(c, query, limit)
	}
	return n.ListAt(c, n.List, query, limit)
}

// ListAt prints the list of this noun's items that another request returns.
func (n Noun) ListAt(c *Call, req proto.Message, query url.Values, limit int) error {
	items, more, err := c.Client.List(c.Ctx, req, query, limit)
	switch {
	case err != nil:
		return err
	case n.Manifest && c.Format == output.YAML:
		return n.manifests(c, items)
	case !c.Format.Plain():
		return output.List(c.Out, c.Format, items)
	}
	ids, rows, err := n.Rows(items, c.Now)
	if err != nil {
		return err
	}
	switch {
	case c.Format == output.Name:
		for _, id := range ids {
			if _, err := fmt.Fprintln(c.Out, output.Line(id)); err != nil {
				return err
			}
		}
	case len(rows) == 0:
		c.Note("no %s", n.Plural)
	default:
		err = n.Table(c, rows)
	}
	if more && err == nil {
		c.Note("there are more; --limit 0 lists all")
	}
	return err
}

// manifests prints items as "windlass apply" takes them.
func (n Noun) manifests(c *Call, items []json.RawMessage) error {
	for i := range items {
		if !n.Partial {
			break
		}
		id, _, err := n.Read(items[i], c.Now)
		if err != nil {
			return err
		}
		if items[i], err = c.Do(client.Named(n.Get, id), nil); err != nil {
			return err
		}
	}
	return output.Manifests(c.Out, n.Name, items)
}

// watch prints a list, and then every two seconds each row that is new or has changed, until Ctrl-C.
func (n Noun) watch(c *Call, query url.Values, limit int) error {
	if c.Format != output.Table {
		return app.Usage("--watch prints a table; -o %s cannot be watched", c.Format)
	}
	seen := map[string][]string{}
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for first := true; ; first = false {
		items, _, err := c.Client.List(c.Ctx, n.List, query, limit)
		switch {
		case c.Ctx.Err() != nil:
			return nil
		case err != nil && (first || !Unreachable(err)):
			return err
		case err != nil:
			c.Note("%s", app.Explain(err))
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
		case <-c.Ctx.Done():
			return nil
		}
	}
}

// printChanges prints rows below those that were printed, and above all the header.
func (n Noun) printChanges(c *Call, rows [][]string, first bool) error {
	if len(rows) == 0 && !first {
		return nil
	}
	var b strings.Builder
	if err := output.Rows(&b, slices.Clone(n.Header), rows, c.Paint()); err != nil {
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
func (n Noun) changes(seen map[string][]string, items []json.RawMessage, now time.Time) ([][]string, error) {
	ids, rows, err := n.Rows(items, now)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for i, row := range rows {
		kept := slices.Clone(row)
		for i, column := range n.Header {
			if column == "AGE" || column == "UPDATED" || column == "SYNCED" || column == "EXPIRES" {
				kept[i] = ""
			}
		}
		if !slices.Equal(kept, seen[ids[i]]) {
			seen[ids[i]] = kept
			out = append(out, row)
		}
	}
	return out, nil
}

// PrintListing prints the items of a list, limit at most (0 = all): their names, their JSON, or for people a table. row returns an item's
// name and row.
func PrintListing[T any, M interface {
	*T
	proto.Message
}](c *Call, req proto.Message, limit int, header []string, row func(M) (name string, cells []string)) error {
	items, _, err := c.Client.List(c.Ctx, req, nil, limit)
	if err != nil {
		return err
	}
	names, rows := make([]string, len(items)), make([][]string, len(items))
	for i, item := range items {
		m := M(new(T))
		if err := client.Decode(item, m); err != nil {
			return err
		}
		names[i], rows[i] = row(m)
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return c.PrintTable(strings.Join(names, "\n"), raw, header, rows...)
}
