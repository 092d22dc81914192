// Package approval has the commands for what turns wait for people for.
package approval

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/question"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Noun returns "windlass approval".
func Noun() command.Noun {
	return command.Noun{
		Name: "approval", Plural: "approvals", Short: "Approvals: what turns wait for people for", More: commands,
		List: &sessionsv1.ListApprovalsRequest{}, Get: &sessionsv1.GetApprovalRequest{},
		Filters: append([]command.Filter{
			{Name: "status", Usage: "only those with this status; all = any", Preset: "pending", Enum: sessionsv1.ApprovalStatus(0).Descriptor()},
			{
				Name: "kind", Usage: "only those of this kind: approval, input, client_tool, resolution, child or authorization",
				Enum: turnv1.WaitKind(0).Descriptor(),
			},
			{Name: "session", Query: "session_id", Usage: "only those of this session"},
			{Name: "turn", Query: "turn_id", Usage: "only those of this turn"},
		}, command.TimeFilters("approvals")...),
		Header: []string{"ID", "KIND", "STATUS", "TOOL", "ARGUMENTS", "AGE", "EXPIRES", "MESSAGE"},
		Read: command.Typed((*sessionsv1.Approval).GetId, func(m *sessionsv1.Approval, now time.Time) []string {
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

func commands(r *command.Runner) []*cobra.Command {
	decide := func(use, short, decision string) *cobra.Command {
		cmd := &cobra.Command{
			Use: use + " ID…", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: r.Run(func(c *command.Call) error { return decideAll(c, decision) }),
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
		Args:    cobra.RangeArgs(1, 2), RunE: r.Run(answer),
	}
	answer.Flags().Bool("decline", false, "say that you do not want to answer")
	answer.Flags().Bool("error", false, "the tool of the client failed; ANSWER says why")
	return []*cobra.Command{
		decide("approve", "Approve a call", "approve"), decide("deny", "Deny a call", "deny"), answer, watchCommand(r),
	}
}

// decideAll decides each of the named approvals, and continues after failures.
func decideAll(c *command.Call, decision string) error {
	var first error
	for _, id := range c.Args {
		switch err := question.Send(c, &sessionsv1.DecideApprovalRequest{
			ApprovalId: id, Decision: decision, Comment: c.Flag("comment"), ArgumentsHash: c.Flag("arguments-hash"),
		}); {
		case err == nil:
		case first == nil:
			first = err
		default:
			c.Note("%s: %s", output.Line(id), app.Explain(err))
		}
	}
	return first
}

func answer(c *command.Call) error {
	req := &sessionsv1.AnswerApprovalRequest{ApprovalId: c.Args[0]}
	switch {
	case c.Bool("decline") && len(c.Args) == 2:
		return app.Usage("--decline takes no ANSWER")
	case c.Bool("decline"):
		req.Action = "decline"
	default:
		text := ""
		if len(c.Args) == 2 {
			raw, err := c.Argument(c.Args[1])
			if err != nil {
				return err
			}
			text = string(raw)
		}
		if err := fillAnswer(c, text, req); err != nil {
			return err
		}
	}
	return question.Send(c, req)
}

// fillAnswer puts an answer into the field that its kind requires.
func fillAnswer(c *command.Call, text string, req *sessionsv1.AnswerApprovalRequest) error {
	var seen sessionsv1.Approval
	if _, err := c.Do(&sessionsv1.GetApprovalRequest{ApprovalId: req.GetApprovalId()}, &seen); err != nil {
		return err
	}
	if seen.GetKind() == turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL {
		req.Result, req.IsError = text, c.Bool("error")
		return nil
	}
	if text == "" {
		return nil
	}
	var content map[string]json.RawMessage // numbers stay as they are written
	if err := json.Unmarshal([]byte(text), &content); err != nil || content == nil {
		return app.Usage(`the answer to a question is a JSON object, as in '{"answer":"yes"}'; not %s`, output.Cell(text))
	}
	return client.Set(req, "content", content)
}
