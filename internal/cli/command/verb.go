package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/usage"
)

// Get returns "windlass get NOUNS [ID]".
func (r *Runner) Get() *cobra.Command {
	return r.verb("get NOUN [ID]", "Show one resource, or list them", "get")
}

// List returns "windlass list NOUNS".
func (r *Runner) List() *cobra.Command { return r.verb("list NOUN", "List resources", "list") }

func (r *Runner) verb(use, short, name string) *cobra.Command {
	var names []string
	cmd := &cobra.Command{Use: use, Short: short}
	for _, n := range r.nouns {
		names = append(names, n.Plural)
		sub := n.listCommand(r, n.Plural)
		sub.Aliases = []string{n.Name}
		if name == "get" && n.Get != nil {
			sub.Use += " [ID]"
			sub.Short = "List " + n.Plural + ", or show one"
			sub.Args = cobra.MaximumNArgs(1)
			sub.RunE = r.Run(func(c *Call) error {
				if len(c.Args) == 1 {
					return n.Show(c, c.Args[0])
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
