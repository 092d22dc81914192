package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/internal/cli/usage"
)

// noun is a kind of resource that the API lists.
type noun struct {
	// name and plural are for people; the plural is also the list's name in the API.
	name, plural, short string
	// path is the collection's path.
	path string
	// filters are flags that become query parameters of the same name, with _ for -.
	filters []filter
	// header names the columns; read returns an item's id and its row.
	header []string
	read   func(raw json.RawMessage, now time.Time) (id string, row []string, err error)
	// wait, if there is one, waits for the end of an item and shows it.
	wait func(*call) error
	// get, remove and stream mean that the API has these methods.
	get, remove, stream bool
	// manifest means that "windlass apply" takes what -o yaml prints.
	manifest bool
	// partial means that lists leave a part of the items out, which -o yaml therefore reads one by one.
	partial bool
	// force describes --force of the delete command, "" if there is no such flag.
	force string
	// more returns the commands that only this noun has.
	more func(*app.App) []*cobra.Command
}

type filter struct {
	name, usage string
	// query is the query parameter, if it is not called as the flag.
	query string
	// preset is the value without the flag; the value "all" filters nothing then.
	preset string
	// yes means that the flag takes no value.
	yes bool
	// when means that the value is a time, or how long ago that was; listOnly that the follow command does not have the flag.
	when, listOnly bool
}

// typed builds noun.read from functions over the generated message.
func typed[T any, M interface {
	*T
	proto.Message
}](id func(M) string, row func(M, time.Time) []string,
) func(json.RawMessage, time.Time) (string, []string, error) {
	return func(raw json.RawMessage, now time.Time) (string, []string, error) {
		m := M(new(T))
		if err := codec.UnmarshalKnown(raw, m); err != nil {
			return "", nil, fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		return id(m), row(m, now), nil
	}
}

// command returns "windlass NOUN …".
func (n noun) command(a *app.App) *cobra.Command {
	subs := []*cobra.Command{n.listCommand(a, "list")}
	if n.get {
		subs = append(subs, n.getCommand(a))
	}
	if n.remove {
		subs = append(subs, n.removeCommand(a))
	}
	if n.stream {
		subs = append(subs, n.followCommands(a)...)
	}
	if n.more != nil {
		subs = append(subs, n.more(a)...)
	}
	return usage.Group(n.name, n.short, []string{n.plural}, subs...)
}

func (n noun) listCommand(a *app.App, use string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Aliases: []string{"ls"}, Short: "List " + n.plural, Args: cobra.NoArgs, RunE: run(a, n.list)}
	n.listFlags(cmd)
	return cmd
}

func (n noun) listFlags(cmd *cobra.Command) {
	cmd.Flags().Int("limit", 100, "list so many at most, 0 = all")
	cmd.Flags().BoolP("watch", "w", false, "go on, and print what is new or changes")
	for _, f := range n.filters {
		if f.yes {
			cmd.Flags().Bool(f.name, false, f.usage)
		} else {
			cmd.Flags().String(f.name, f.preset, f.usage)
		}
	}
}

func (n noun) getCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show one " + n.name, Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			if flag(c.cmd, "wait") == "true" {
				return n.wait(c)
			}
			return n.show(c, c.args[0])
		}),
	}
	if n.wait != nil {
		cmd.Flags().Bool("wait", false, "wait for its end; the exit code is 5 if it failed")
	}
	return cmd
}

func (n noun) removeCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID…", Short: "Delete " + n.plural, Args: cobra.MinimumNArgs(1),
		RunE: run(a, func(c *call) error {
			query := url.Values{}
			if n.force != "" && flag(c.cmd, "force") == "true" {
				query.Set("force", "true")
			}
			for _, id := range c.args {
				if _, err := c.client.Do(c.ctx, client.Request{Method: http.MethodDelete, Path: n.path + client.Path(id), Query: query},
					nil); err != nil {
					return err
				}
				if err := c.print(id, json.RawMessage(`{}`), func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s %s deleted\n", n.name, output.Line(id))
					return err
				}); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	if n.force != "" {
		cmd.Flags().Bool("force", false, n.force)
	}
	return cmd
}

func (n noun) list(c *call) error {
	limit, err := c.cmd.Flags().GetInt("limit")
	if err != nil || limit < 0 {
		return app.Usage("--limit must be 0 or more")
	}
	query, err := n.query(c)
	if err != nil {
		return err
	}
	if flag(c.cmd, "watch") == "true" {
		return n.watchList(c, query, limit)
	}
	return n.listAt(c, n.path, n.plural, query, limit)
}

// query returns the parameters that the flags of the filters stand for.
func (n noun) query(c *call) (url.Values, error) {
	query := url.Values{}
	for _, f := range n.filters {
		v := flag(c.cmd, f.name)
		if v == "" || v == "false" || f.preset != "" && v == "all" {
			continue
		}
		if at, ok := show.When(v, c.now); f.when && ok {
			v = at
		} else if f.when {
			return nil, app.Usage("--%s must be a time such as 2026-01-02T15:04:05Z, or how long ago, such as 2h", f.name)
		}
		query.Set(cmp.Or(f.query, strings.ReplaceAll(f.name, "-", "_")), v)
	}
	return query, nil
}

// listAt prints a list of this noun's items from another path.
func (n noun) listAt(c *call, path, field string, query url.Values, limit int) error {
	items, more, err := c.client.List(c.ctx, path, field, query, limit)
	if err != nil {
		return err
	}
	if n.manifest && c.format == output.YAML {
		for i := range items {
			if !n.partial {
				break
			}
			id, _, err := n.read(items[i], c.now)
			if err != nil {
				return err
			}
			if items[i], err = c.client.Do(c.ctx, client.Request{Method: http.MethodGet, Path: n.path + client.Path(id)}, nil); err != nil {
				return err
			}
		}
		return output.Manifests(c.Out, n.name, items)
	}
	if !c.format.Plain() {
		return output.List(c.Out, c.format, items)
	}
	var rows [][]string
	for _, raw := range items {
		id, row, err := n.read(raw, c.now)
		if err != nil {
			return err
		}
		if c.format == output.Name {
			row = []string{id}
		}
		rows = append(rows, row)
	}
	switch {
	case c.format == output.Name:
		for _, row := range rows {
			if _, err := fmt.Fprintln(c.Out, output.Line(row[0])); err != nil {
				return err
			}
		}
	case len(rows) == 0:
		c.note("no %s", n.plural)
	default:
		if err := output.Rows(c.Out, slices.Clone(n.header), rows, c.paint()); err != nil {
			return err
		}
	}
	if more {
		c.note("there are more; --limit 0 lists all")
	}
	return nil
}

// table prints items for people.
func (n noun) table(c *call, items []json.RawMessage) error {
	var rows [][]string
	for _, raw := range items {
		_, row, err := n.read(raw, c.now)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return output.Rows(c.Out, slices.Clone(n.header), rows, c.paint())
}

// show prints one resource.
func (n noun) show(c *call, id string) error {
	raw, err := c.client.Do(c.ctx, client.Request{Path: n.path + client.Path(id)}, nil)
	if err != nil {
		return err
	}
	return n.printOne(c, raw)
}

// printOne prints a resource from a response.
func (n noun) printOne(c *call, raw json.RawMessage) error {
	id, _, err := n.read(raw, c.now)
	if err != nil {
		return err
	}
	if n.manifest && c.format == output.YAML {
		return output.Manifests(c.Out, n.name, []json.RawMessage{raw})
	}
	return c.print(id, raw, func(w io.Writer) error { return output.Fields(w, raw) })
}

// getCommand returns "windlass get NOUNS [ID]".
func getCommand(a *app.App) *cobra.Command {
	return verb(a, "get NOUN [ID]", "Show one resource, or list them", "get")
}

// listCommand returns "windlass list NOUNS".
func listCommand(a *app.App) *cobra.Command { return verb(a, "list NOUN", "List resources", "list") }

func verb(a *app.App, use, short, name string) *cobra.Command {
	var names []string
	cmd := &cobra.Command{Use: use, Short: short}
	for _, n := range nouns() {
		names = append(names, n.plural)
		sub := n.listCommand(a, n.plural)
		sub.Aliases = []string{n.name}
		if name == "get" && n.get {
			sub.Use += " [ID]"
			sub.Short = "List " + n.plural + ", or show one"
			sub.Args = cobra.MaximumNArgs(1)
			sub.RunE = run(a, func(c *call) error {
				if len(c.args) == 1 {
					return n.show(c, c.args[0])
				}
				return n.list(c)
			})
		}
		cmd.AddCommand(sub)
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return app.Usage("say what to %s: %s", name, strings.Join(names, ", "))
		}
		return app.Usage("there is no kind %q; there are %s", args[0], strings.Join(names, ", "))
	}
	cmd.RunE = usage.GroupRun
	return cmd
}
