package session

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func exportCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a whole session to standard output", Args: cobra.ExactArgs(1),
		RunE: r.Run(export),
	}
	cmd.Flags().StringP("format", "f", "", "markdown, a transcript (default), pdf, or json")
	cmd.Flags().Bool("events", false, "with json: the journal's events too")
	return cmd
}

func export(c *command.Call) error {
	format := c.Flag("format")
	switch {
	case c.Format == output.Name:
		return app.Usage("an export is written as markdown, pdf or json; not %q", c.Format)
	case format == "" && c.Format == output.Table:
		format = "markdown"
	case format == "":
		format = "json"
	case format != "markdown" && format != "json" && format != "pdf":
		return app.Usage("--format %q: it must be markdown, pdf or json", format)
	}
	raw, err := c.Do(&sessionsv1.ExportSessionRequest{SessionId: c.Args[0], Format: format, IncludeEvents: c.Bool("events")}, nil)
	switch {
	case err != nil:
		return err
	case format == "markdown":
		_, err = io.WriteString(c.Out, output.Text(string(raw)))
		return err
	case format == "pdf":
		_, err = c.Out.Write(raw)
		return err
	case c.Format == output.YAML:
		return output.Value(c.Out, output.YAML, raw)
	}
	return output.Value(c.Out, output.JSON, raw)
}
