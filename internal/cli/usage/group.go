package usage

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/nearest"
)

// Group returns a command that only contains others.
func Group(use, short string, aliases []string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Aliases: aliases, Args: cobra.ArbitraryArgs, RunE: GroupRun}
	cmd.AddCommand(subs...)
	return cmd
}

func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// elsewhere are commands of other programs, and ours that do the same.
var elsewhere = map[string]string{
	"ls": "'windlass session list', or another noun", "ps": "'windlass turn list', or 'windlass top'",
	"rm": "'windlass session delete ID', or another noun", "logs": "'windlass turn watch ID'", "start": "'windlass up'",
	"create": "'windlass apply FILE'", "exec": "'windlass run AGENT TEXT'", "describe": "'windlass get'", "ask": "'windlass chat MESSAGE'",
}

// GroupRun shows help; an unknown subcommand is an error.
func GroupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := ""
	if other := elsewhere[args[0]]; other != "" && (!cmd.HasParent() || args[0] == "create") {
		hint = "; use " + other
	} else if near := nearest.Name(args[0], subcommands(cmd)); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return app.Usage("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
}
