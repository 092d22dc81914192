package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/asked"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func approvals() noun {
	return noun{
		name: "approval", plural: "approvals", short: "Approvals: what turns wait for people for", path: asked.Path, get: true,
		more: approvalCommands,
		filters: []filter{
			{name: "status", usage: "only those with this status; all = any", preset: "pending"},
			{name: "kind", usage: "only those of this kind: approval, input, client_tool, resolution, child or authorization"},
			{name: "session", query: "session_id", usage: "only those of this session"},
			{name: "turn", query: "turn_id", usage: "only those of this turn"},
		},
		header: []string{"ID", "KIND", "STATUS", "TOOL", "ARGUMENTS", "AGE", "EXPIRES", "MESSAGE"},
		read: typed((*sessionsv1.Approval).GetId, func(m *sessionsv1.Approval, now time.Time) []string {
			expires := ""
			if m.GetExpireTime() != nil && m.GetEndTime() == nil {
				expires = "in " + output.Ago(m.GetExpireTime().AsTime(), now)
			}
			return []string{
				m.GetId(), enum.Name(m.GetKind()), enum.Name(m.GetStatus()), m.GetTool(), output.Cell(show.Object(m.GetArguments())),
				output.Ago(now, m.GetCreateTime().AsTime()), expires, output.Cell(m.GetMessage()),
			}
		}),
	}
}

func approvalCommands(a *app.App) []*cobra.Command {
	decide := func(use, short, decision string) *cobra.Command {
		cmd := &cobra.Command{
			Use: use + " ID…", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: run(a, func(c *call) error { return decideAll(c, decision) }),
		}
		cmd.Flags().String("comment", "", "the reason; the model sees it if the call is denied")
		cmd.Flags().String("arguments-hash", "", "decide only if the arguments still have this hash")
		return cmd
	}
	answer := &cobra.Command{
		Use: "answer ID [ANSWER]", Short: "Answer a question, or send the result of a tool that the client runs",
		Long: "Answer what a turn waits for. For a question ANSWER is a JSON object that fits its schema ('windlass approval get ID' " +
			"shows it);\nfor a tool of the client it is the result as text. - reads standard input, @FILE a file.",
		Example: `  windlass approval answer apr_… '{"colour":"red"}'` + "\n  windlass approval answer apr_… --decline",
		Args:    cobra.RangeArgs(1, 2), RunE: run(a, answerApproval),
	}
	answer.Flags().Bool("decline", false, "say that you do not want to answer")
	answer.Flags().Bool("error", false, "the tool of the client failed; ANSWER says why")
	return []*cobra.Command{
		decide("approve", "Approve a call", "approve"), decide("deny", "Deny a call", "deny"), answer,
	}
}

// decideAll decides each of the named approvals, and continues after failures.
func decideAll(c *call, decision string) error {
	var first error
	for _, id := range c.args {
		body := map[string]any{"decision": decision}
		if v := flag(c.cmd, "comment"); v != "" {
			body["comment"] = v
		}
		if v := flag(c.cmd, "arguments-hash"); v != "" {
			body["arguments_hash"] = v
		}
		raw, err := postApproval(c, id, "decide", body)
		if err == nil {
			err = printApproval(c, raw)
		}
		switch {
		case err == nil:
		case first == nil:
			first = err
		default:
			c.note("%s: %s", output.Line(id), app.Explain(err))
		}
	}
	return first
}

func postApproval(c *call, id, verb string, body map[string]any) ([]byte, error) {
	return c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: asked.Path + client.Path(id) + ":" + verb, Body: body}, nil)
}

// printApproval prints an approval's state on one line.
func printApproval(c *call, raw json.RawMessage) error {
	id, row, err := approvals().read(raw, c.now)
	if err != nil {
		return err
	}
	return c.print(id, raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s %s\n", output.Line(id), row[2])
		return err
	})
}

func answerApproval(c *call) error {
	body := map[string]any{}
	switch {
	case flag(c.cmd, "decline") == "true" && len(c.args) == 2:
		return app.Usage("--decline takes no ANSWER")
	case flag(c.cmd, "decline") == "true":
		body["action"] = "decline"
	default:
		text := ""
		if len(c.args) == 2 {
			raw, err := readArgument(c.App, c.args[1])
			if err != nil {
				return err
			}
			text = string(raw)
		}
		if err := fillAnswer(c, c.args[0], text, body); err != nil {
			return err
		}
	}
	raw, err := postApproval(c, c.args[0], "answer", body)
	if err != nil {
		return err
	}
	return printApproval(c, raw)
}

// fillAnswer puts an answer into the field that its kind requires.
func fillAnswer(c *call, id, text string, body map[string]any) error {
	var seen sessionsv1.Approval
	if _, err := c.client.Do(c.ctx, client.Request{Path: asked.Path + client.Path(id)}, &seen); err != nil {
		return err
	}
	if seen.GetKind() == turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL {
		body["result"] = text
		if flag(c.cmd, "error") == "true" {
			body["is_error"] = true
		}
		return nil
	}
	if text == "" {
		return nil
	}
	var content map[string]json.RawMessage // numbers stay as they are written
	if err := json.Unmarshal([]byte(text), &content); err != nil || content == nil {
		return app.Usage(`the answer to a question is a JSON object, as in '{"answer":"yes"}'; not %s`, output.Cell(text))
	}
	body["content"] = content
	return nil
}
