package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func sessionCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{Use: "create", Short: "Open a session with an agent", Args: cobra.NoArgs, RunE: run(a, createSession)}
	create.Flags().String("agent", "", "the agent; without it the only one, or the one named assistant")
	create.Flags().String("title", "", "title for people")
	create.Flags().String("params", "", `what the agent's placeholders ${params.*} stand for, as JSON: '{"team":"red"}'`)
	create.Flags().StringToString("label", nil, "labels, as key=value")

	list := &cobra.Command{
		Use: "messages ID", Short: "Show the conversation of a session", Args: cobra.ExactArgs(1), RunE: run(a, showMessages),
	}
	list.Flags().Int("limit", 0, "show so many at most, 0 = all")
	update := &cobra.Command{
		Use: "update ID", Short: "Change the title and the labels of a session", Args: cobra.ExactArgs(1), RunE: run(a, updateSession),
	}
	update.Flags().String("title", "", "title for people")
	update.Flags().StringToString("label", nil, "labels, as key=value, instead of those it has")
	return []*cobra.Command{create, update, list, forkCommand(a), exportCommand(a)}
}

func updateSession(c *call) error {
	labels, err := c.cmd.Flags().GetStringToString("label")
	if err != nil {
		return app.Usage("%s", err)
	}
	body, mask := map[string]any{"title": flag(c.cmd, "title"), "labels": labels}, []string{}
	for name, field := range map[string]string{"title": "title", "label": "labels"} {
		if c.cmd.Flags().Changed(name) {
			mask = append(mask, field)
		} else {
			delete(body, field)
		}
	}
	if len(mask) == 0 {
		return app.Usage("say what to change: --title or --label")
	}
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPatch, Path: "/v1/sessions" + client.Path(c.args[0]), Body: body,
		Query: url.Values{"update_mask": {strings.Join(mask, ",")}},
	}, nil)
	if err != nil {
		return err
	}
	return sessions().printOne(c, raw)
}

func createSession(c *call) error {
	labels, err := c.cmd.Flags().GetStringToString("label")
	if err != nil {
		return app.Usage("%s", err)
	}
	body := map[string]any{}
	if v := flag(c.cmd, "agent"); v != "" {
		body["agent_id"] = v
	}
	if v := flag(c.cmd, "title"); v != "" {
		body["title"] = v
	}
	if len(labels) > 0 {
		body["labels"] = labels
	}
	if err := addParams(c, body); err != nil {
		return err
	}
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/sessions", Body: body}, nil)
	if err != nil {
		return err
	}
	return sessions().printOne(c, raw)
}

// newSession opens a session for a chat.
func newSession(c *call, agent string) (*sessionsv1.Session, error) {
	body := map[string]any{}
	if agent != "" {
		body["agent_id"] = agent
	}
	if err := addParams(c, body); err != nil {
		return nil, err
	}
	var s sessionsv1.Session
	_, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/sessions", Body: body}, &s)
	return &s, err
}

// addParams adds the flag --params, if the command has it, to a request.
func addParams(c *call, body map[string]any) error {
	if c.cmd.Flags().Lookup("params") == nil || flag(c.cmd, "params") == "" {
		return nil
	}
	var params map[string]json.RawMessage // numbers stay as they are written
	if err := json.Unmarshal([]byte(flag(c.cmd, "params")), &params); err != nil || params == nil {
		return app.Usage(`--params must be a JSON object, as in '{"team":"red"}'`)
	}
	body["params"] = params
	return nil
}

func showMessages(c *call) error {
	limit, err := c.cmd.Flags().GetInt("limit")
	if err != nil || limit < 0 {
		return app.Usage("--limit must be 0 or more")
	}
	path := "/v1/sessions" + client.Path(c.args[0], "messages")
	if c.format != output.Table {
		return messages().listAt(c, path, "messages", url.Values{}, limit)
	}
	items, _, err := c.client.List(c.ctx, path, "messages", nil, limit)
	if err != nil {
		return err
	}
	for _, raw := range items {
		if err := printMessage(c.Out, raw); err != nil {
			return err
		}
	}
	return nil
}

// printMessage prints one message in full.
func printMessage(w io.Writer, raw json.RawMessage) error {
	var m turnv1.Message
	if err := codec.UnmarshalKnown(raw, &m); err != nil {
		return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
	}
	var lines []string
	if text := show.Parts(m.GetContent()); text != "" {
		lines = append(lines, text)
	}
	for _, call := range m.GetToolCalls() {
		lines = append(lines, "calls "+call.GetTool()+" "+call.GetArgumentsJson())
	}
	if r := m.GetToolResult(); r != nil {
		lines = append(lines, r.GetTool()+": "+show.Parts(r.GetContent()))
	}
	text := strings.ReplaceAll(output.Text(strings.Join(lines, "\n")), "\n", "\n           ")
	_, err := fmt.Fprintf(w, "%-9s  %s\n", enum.Name(m.GetRole()), text)
	return err
}
