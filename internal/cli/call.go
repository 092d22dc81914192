package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/internal/cli/version"
	"github.com/windlass-dev/windlass/libs/fault"
)

// call is one run of a command that calls a server.
type call struct {
	*app.App
	ctx    context.Context // of this one run
	cmd    *cobra.Command
	args   []string
	client *client.Client
	format output.Format
	now    time.Time
	state  state.Store
}

// run returns the RunE of a command that calls a server.
func run(a *app.App, do func(*call) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		format, err := output.Parse(flag(cmd, "output"))
		if err != nil {
			return app.Usage("%s", err)
		}
		server := serverOf(a, cmd)
		kept := state.Of(a, server)
		c, err := client.New(client.Config{
			Server: server, UserAgent: "windlass/" + version.Of(a.Version).Version, Made: kept.Remember, Token: login.Source(a),
			Silent: func() {
				_, _ = fmt.Fprintf(a.Err, "%s accepts connections but does not answer, waiting… (Ctrl-C stops)\n", server) // best effort
			},
		})
		if err != nil {
			return app.Usage("%s", err)
		}
		defer c.Close()
		run := &call{App: a, ctx: cmd.Context(), cmd: cmd, args: args, client: c, format: format, now: time.Now(), state: kept}
		if err := run.expand(); err != nil {
			return err
		}
		return hint.Commands(do(run))
	}
}

// serverOf returns the address of the server to call.
func serverOf(a *app.App, cmd *cobra.Command) string {
	return cmp.Or(flag(cmd, "server"), a.Getenv(serverEnv), defaultServer)
}

// paint returns how cells of tables are coloured, nil where they are not.
func (c *call) paint() func(column, cell string) string {
	if !c.Colour() {
		return nil
	}
	return output.Paint
}

// flag returns a flag's text, "" if the command does not have it.
func flag(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// print writes one resource: its name, its JSON or YAML, or for people the output of text.
func (c *call) print(id string, raw json.RawMessage, text func(io.Writer) error) error {
	switch c.format {
	case output.Name:
		for line := range strings.Lines(id) {
			if _, err := fmt.Fprintln(c.Out, output.Line(line)); err != nil {
				return err
			}
		}
		return nil
	case output.Table:
		return text(c.Out)
	default:
		return output.Value(c.Out, c.format, raw)
	}
}

// note prints a message for people beside the result.
func (c *call) note(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", args...) // best effort
}

// unreachable reports whether an error means that the server did not answer.
func unreachable(err error) bool {
	e := fault.As(err)
	return e != nil && e.Code == codes.Unavailable
}
