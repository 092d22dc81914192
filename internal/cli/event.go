package cli

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
)

// followCommands returns the command that prints the items of a stream.
func (n noun) followCommands(a *app.App) []*cobra.Command {
	follow := &cobra.Command{
		Use: "follow", Short: "Print " + n.plural + " as they happen, until Ctrl-C",
		Long:    "Print " + n.plural + " from now on, or from a time or a cursor. A broken connection is resumed without gap or repetition.",
		Example: "  windlass event follow --type 'dev.windlass.source.*'\n  windlass event follow --since 24h -o json",
		Args:    cobra.NoArgs, RunE: run(a, n.follow),
	}
	for _, f := range n.filters {
		if !f.listOnly {
			follow.Flags().String(f.name, "", f.usage)
		}
	}
	follow.Flags().String("after", "", "begin after this cursor")
	return []*cobra.Command{follow}
}

// follow prints a stream.
func (n noun) follow(c *call) error {
	if c.format != output.Table && c.format != output.JSON {
		return app.Usage("events are printed as lines, or as JSON lines with -o json; not %q", c.format)
	}
	query, err := n.query(c)
	if err != nil {
		return err
	}
	err = c.client.WatchDomain(c.ctx, client.Watch{
		Path: n.path + ":watch", Query: query, After: flag(c.cmd, "after"),
		Notice: c.streamBroke,
	}, show.DomainEvents(c.Out, c.format == output.JSON))
	if c.ctx.Err() != nil {
		return nil //nolint:nilerr // the user ended it
	}
	return err
}
