// Package command is what the commands of the command line are made from: a run that calls a server, and nouns, which are kinds of
// resources with the commands that most kinds have.
package command

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/internal/cli/usage"
)

// serverEnv names the variable with the server to call, used without --server.
const serverEnv = "WINDLASS_SERVER"

// defaultServer is where windlass up serves.
const defaultServer = "http://127.0.0.1:8080"

// Runner runs commands that call a server. It knows all nouns, whose ids may be shortened and are completed.
type Runner struct {
	*app.App
	nouns []Noun
}

// New returns a runner for the nouns of a command line.
func New(a *app.App, nouns ...Noun) *Runner { return &Runner{App: a, nouns: nouns} }

// Run returns the RunE of a command that calls a server.
func (r *Runner) Run(do func(*Call) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		format, err := output.Parse(flagText(cmd, "output"))
		if err != nil {
			return app.Usage("%s", err)
		}
		server := r.ServerOf(cmd)
		kept := state.Of(r.App, server)
		cl, err := client.New(client.Config{
			Server: server, UserAgent: "windlass/" + r.Build().Version, Made: kept.Remember, Token: login.Source(r.App),
			Silent: func() {
				_, _ = fmt.Fprintf(r.Err, "%s accepts connections but does not answer, waiting… (Ctrl-C stops)\n", server) // best effort
			},
		})
		if err != nil {
			return app.Usage("%s", err)
		}
		defer cl.Close()
		c := &Call{
			App: r.App, Ctx: cmd.Context(), Cmd: cmd, Args: args, Client: cl, Format: format, Now: time.Now(), State: kept, nouns: r.nouns,
		}
		if err := c.expand(); err != nil {
			return err
		}
		return hint.Commands(do(c))
	}
}

// ServerOf returns the address of the server that a command calls.
func (r *Runner) ServerOf(cmd *cobra.Command) string {
	return cmp.Or(flagText(cmd, "server"), r.Getenv(serverEnv), defaultServer)
}

// Finish completes a root command that has all its commands: with the flags that they share, with errors in the command line's words, and
// with the completion of ids and names.
func (r *Runner) Finish(root *cobra.Command) {
	root.SetFlagErrorFunc(usage.WrongFlag)
	root.PersistentFlags().StringP("output", "o", "table", "what to print: table, json, yaml, name, jsonpath=… or custom-columns=NAME:.path,…")
	root.PersistentFlags().String("server", "", "address of the server (default $"+serverEnv+", then "+defaultServer+")")
	// the flag exists
	_ = root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]string{"table", "json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
	usage.Refine(root)
	r.complete(root)
}

// flagText returns a flag's text, "" if the command does not have it.
func flagText(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}
