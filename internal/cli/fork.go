package cli

import (
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
)

func forkCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Open a session that continues from a point in another one",
		Long: "Open a session that begins with the conversation of another one, up to --seq or to its last finished turn.\n" +
			"forked_from_seq in the answer says up to where it was taken: in the middle of a turn, no tool call is taken without its result.",
		Args: cobra.ExactArgs(1), RunE: run(a, forkSession),
	}
	cmd.Flags().Uint32("seq", 0, "take the messages up to this event; 0 = those of all finished turns")
	cmd.Flags().String("agent", "", "agent of the new session; without it that of the other one")
	cmd.Flags().String("title", "", "title for people; without it that of the other one")
	cmd.Flags().String("params", "", "params of the new session, as JSON; without them those of the other one")
	cmd.Flags().String("key", "", "idempotency key: the same key and request give the same session")
	return cmd
}

func forkSession(c *call) error {
	seq, err := c.cmd.Flags().GetUint32("seq")
	if err != nil {
		return app.Usage("%s", err)
	}
	body := map[string]any{}
	if seq > 0 {
		body["seq"] = seq
	}
	if v := flag(c.cmd, "agent"); v != "" {
		body["agent_id"] = v
	}
	if v := flag(c.cmd, "title"); v != "" {
		body["title"] = v
	}
	if err := addParams(c, body); err != nil {
		return err
	}
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sessions" + client.Path(c.args[0]) + ":fork", Body: body, Key: flag(c.cmd, "key"),
	}, nil)
	if err != nil {
		return err
	}
	return sessions().printOne(c, raw)
}

func exportCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a whole session to standard output", Args: cobra.ExactArgs(1),
		RunE: run(a, exportSession),
	}
	cmd.Flags().StringP("format", "f", "", "markdown, a transcript (default), or json")
	cmd.Flags().Bool("events", false, "with json: the journal's events too")
	return cmd
}

func exportSession(c *call) error {
	format := flag(c.cmd, "format")
	switch {
	case c.format == output.Name:
		return app.Usage("an export is written as markdown or json; not %q", c.format)
	case format == "" && c.format == output.Table:
		format = "markdown"
	case format == "":
		format = "json"
	case format != "markdown" && format != "json":
		return app.Usage("--format %q: it must be markdown or json", format)
	}
	query := url.Values{"format": {format}}
	if flag(c.cmd, "events") == "true" {
		query.Set("include_events", "true")
	}
	raw, err := c.client.Do(c.ctx, client.Request{Path: "/v1/sessions" + client.Path(c.args[0]) + ":export", Query: query}, nil)
	switch {
	case err != nil:
		return err
	case format == "markdown":
		_, err = io.WriteString(c.Out, output.Text(string(raw)))
		return err
	case c.format == output.YAML:
		return output.Value(c.Out, output.YAML, raw)
	}
	return output.Value(c.Out, output.JSON, raw)
}
