package command

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
)

// Noun is a kind of resource that the API lists.
type Noun struct {
	// Name and Plural are for people.
	Name, Plural, Short string
	// List, Get and Remove are the requests of the API's methods, the last two without an id, and nil if there is no such method.
	List, Get, Remove proto.Message
	// Filters are flags of lists.
	Filters []Filter
	// Header names the columns; Read returns an item's id and its row.
	Header []string
	Read   func(raw json.RawMessage, now time.Time) (id string, row []string, err error)
	// Wait, if there is one, waits for the end of an item and shows it.
	Wait func(*Call) error
	// Manifest means that "windlass apply" takes what -o yaml prints.
	Manifest bool
	// Partial means that lists leave a part of the items out, which -o yaml therefore reads one by one.
	Partial bool
	// Force describes --force of the delete command, "" if there is no such flag.
	Force string
	// Permanent describes --permanent of the delete command, "" if there is no such flag.
	Permanent string
	// More returns the commands that only this noun has.
	More func(*Runner) []*cobra.Command
}

// Typed builds Noun.Read from functions over the generated message.
func Typed[T any, M interface {
	*T
	proto.Message
}](id func(M) string, row func(M, time.Time) []string,
) func(json.RawMessage, time.Time) (string, []string, error) {
	return func(raw json.RawMessage, now time.Time) (string, []string, error) {
		m := M(new(T))
		if err := client.Decode(raw, m); err != nil {
			return "", nil, err
		}
		return id(m), row(m, now), nil
	}
}

// Nouns returns "windlass NOUN …" for each noun.
func (r *Runner) Nouns() []*cobra.Command {
	var all []*cobra.Command
	for _, n := range r.nouns {
		all = append(all, n.command(r))
	}
	return all
}

func (n Noun) command(r *Runner) *cobra.Command {
	subs := []*cobra.Command{n.listCommand(r, "list")}
	if n.Get != nil {
		subs = append(subs, n.getCommand(r))
	}
	if n.Remove != nil {
		subs = append(subs, n.removeCommand(r))
	}
	if n.More != nil {
		subs = append(subs, n.More(r)...)
	}
	return usage.Group(n.Name, n.Short, []string{n.Plural}, subs...)
}

func (n Noun) listCommand(r *Runner, use string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Aliases: []string{"ls"}, Short: "List " + n.Plural, Args: cobra.NoArgs, RunE: r.Run(n.list)}
	cmd.Flags().Int("limit", 100, "list so many at most, 0 = all")
	cmd.Flags().BoolP("watch", "w", false, "go on, and print what is new or changes")
	FilterFlags(cmd, n.Filters)
	return cmd
}

func (n Noun) getCommand(r *Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show one " + n.Name, Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *Call) error {
			if c.Bool("wait") {
				return n.Wait(c)
			}
			return n.Show(c, c.Args[0])
		}),
	}
	if n.Wait != nil {
		cmd.Flags().Bool("wait", false, "wait for its end; the exit code is 5 if it failed")
	}
	return cmd
}

func (n Noun) removeCommand(r *Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID…", Short: "Delete " + n.Plural, Args: cobra.MinimumNArgs(1),
		RunE: r.Run(func(c *Call) error {
			for _, id := range c.Args {
				req := client.Named(n.Remove, id)
				if err := c.Given(req, "force", "permanent"); err != nil {
					return err
				}
				if _, err := c.Do(req, nil); err != nil {
					return err
				}
				if err := c.Printf(id, json.RawMessage(`{}`), "%s %s deleted", n.Name, output.Line(id)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	if n.Force != "" {
		cmd.Flags().Bool("force", false, n.Force)
	}
	if n.Permanent != "" {
		cmd.Flags().Bool("permanent", false, n.Permanent)
	}
	return cmd
}

// Show prints one resource.
func (n Noun) Show(c *Call, id string) error {
	return n.Send(c, client.Named(n.Get, id))
}

// Send makes a request and prints the resource in its response.
func (n Noun) Send(c *Call, req proto.Message) error {
	raw, err := c.Do(req, nil)
	if err != nil {
		return err
	}
	return n.Print(c, raw)
}

// Print prints a resource from a response.
func (n Noun) Print(c *Call, raw json.RawMessage) error {
	id, _, err := n.Read(raw, c.Now)
	if err != nil {
		return err
	}
	if n.Manifest && c.Format == output.YAML {
		return output.Manifests(c.Out, n.Name, []json.RawMessage{raw})
	}
	return c.PrintFields(id, raw)
}

// Rows returns the ids and rows of items.
func (n Noun) Rows(items []json.RawMessage, now time.Time) (ids []string, rows [][]string, err error) {
	for _, raw := range items {
		id, row, err := n.Read(raw, now)
		if err != nil {
			return nil, nil, err
		}
		ids, rows = append(ids, id), append(rows, row)
	}
	return ids, rows, nil
}

// Table prints rows for people.
func (n Noun) Table(c *Call, rows [][]string) error {
	return output.Rows(c.Out, slices.Clone(n.Header), rows, c.Paint())
}
