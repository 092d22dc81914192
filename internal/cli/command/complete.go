package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/internal/cli/usage"
)

// complete lets shells complete ids and names of every command and flag that takes them.
func (r *Runner) complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		r.complete(sub)
	}
	if want := usage.Arguments(cmd); len(want) > 0 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			i := len(args)
			if i >= len(want) && !want[len(want)-1].Many {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			switch w := want[min(i, len(want)-1)]; w.Name {
			case "FILE":
				return nil, cobra.ShellCompDirectiveDefault
			case "AGENT":
				return r.candidates(cmd, "agent", typed)
			case "NAME":
				if p := cmd.Parent(); p != nil && cmd.Name() != "create" {
					return r.candidates(cmd, p.Name(), typed)
				}
				return nil, cobra.ShellCompDirectiveNoFileComp
			default:
				return r.candidates(cmd, kindOf(r.nouns, cmd, w.Name), typed)
			}
		}
	}
	for _, kind := range []string{"agent", "session", "turn", "source", "tool"} {
		if cmd.LocalFlags().Lookup(kind) != nil {
			// the flag exists
			_ = cmd.RegisterFlagCompletionFunc(kind, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return r.candidates(cmd, kind, typed)
			})
		}
	}
}

// candidates returns the ids or names of a kind that begin as typed; none if the server does not answer in time.
func (r *Runner) candidates(cmd *cobra.Command, kind, typed string) ([]string, cobra.ShellCompDirective) {
	var out []string
	server := r.ServerOf(cmd)
	cl, err := client.New(client.Config{Server: server, UserAgent: "windlass", Timeout: 2 * time.Second, Token: login.Source(r.App)})
	if err != nil || kind == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer cl.Close()
	c := &Call{App: r.App, Ctx: cmd.Context(), Cmd: cmd, Client: cl, Now: time.Now(), State: state.Of(r.App, server), nouns: r.nouns}
	ids := c.newest(kind)
	if c.State.Last(kind) != "" {
		ids = append([]string{lastWord}, ids...)
	}
	for _, id := range ids {
		if strings.HasPrefix(id, typed) {
			out = append(out, id)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
