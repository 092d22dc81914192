// Package cli is the windlass command, a client of a running mesh over REST and event streams.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/cli/support"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/internal/cli/version"
)

// serverEnv names the variable with the server to call, used without --server.
const serverEnv = "WINDLASS_SERVER"

// defaultServer is where windlass up serves.
const defaultServer = "http://127.0.0.1:8080"

// New returns the windlass command with its own commands and the given ones.
func New(a *app.App, more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "windlass",
		Short: "Run agents whose turns survive anything",
		Long: `Run agents whose turns survive anything.

'windlass up' runs all of Windlass on this machine; the other commands speak to it, or to the server that --server names.

An id may be shortened to a beginning that only one resource has. @last is the session, turn or approval that was made or
shown last from here.

Exit codes: 0 ok, 1 error, 2 wrong usage, 3 not found, 4 denied, 5 the turn failed, 6 the turn waits for a person.`,
		Args:    cobra.ArbitraryArgs,
		RunE:    usage.GroupRun,
		Version: version.Of(a.Version).Version,
	}
	root.SetVersionTemplate("windlass {{.Version}}\n")
	root.SetGlobalNormalizationFunc(usage.CurrentName)
	root.SetFlagErrorFunc(usage.WrongFlag)
	root.PersistentFlags().StringP("output", "o", "table", "what to print: table, json, yaml, name, jsonpath=… or custom-columns=NAME:.path,…")
	root.PersistentFlags().String("server", "", "address of the server (default $"+serverEnv+", then "+defaultServer+")")
	// the flag exists
	_ = root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"table", "json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "talk", Title: "Talk:"},
		&cobra.Group{ID: "nouns", Title: "Look and change:"})
	for _, c := range more {
		c.GroupID = "run"
	}
	root.AddCommand(more...)
	add := func(group string, cs ...*cobra.Command) {
		for _, c := range cs {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", doctorCommand(a), topCommand(a), versionCommand(a), support.Command(a, runner(a)))
	add("run", initCommand(a), mcpCommand(a), login.User(a))
	add("run", login.Commands(a, func(cmd *cobra.Command) string { return serverOf(a, cmd) })...)
	add("talk", chatCommand(a), runCommand(a), decideCommand(a), applyCommand(a))
	add("nouns", nounCommands(a)...)
	add("nouns", getCommand(a), listCommand(a))
	usage.Refine(root)
	completes(a, root)
	return root
}
