// Package decide has the command that answers whatever a turn waits for.
package decide

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/question"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Command returns "windlass decide".
func Command(r *command.Runner) *cobra.Command {
	return &cobra.Command{
		Use: "decide APPROVAL [ANSWER…]", Short: "Answer whatever a turn waits for: an approval, a question, a result",
		Long: "Answer whatever a turn waits for. What ANSWER may be depends on its kind:\n" +
			"  an approval            y or n (approve or deny), and why\n" +
			"  a question             text, or a JSON object that fits its schema; empty declines\n" +
			"  a tool of the client   its result, as text\n" +
			"  an unknown outcome     done and the call's result, not_done (it runs now) or give_up\n" +
			"  an authorization       retry, once you have logged in or connected the source, or decline\n" +
			"Without ANSWER it shows what is asked, and asks for the answer on a terminal. - reads standard input, @FILE a file.",
		Example: "  windlass decide @last y 'looks fine'\n  windlass decide apr_01k… '{\"colour\":\"red\"}'",
		Args:    cobra.MinimumNArgs(1), RunE: r.Run(decide),
	}
}

func decide(c *command.Call) error {
	var seen sessionsv1.Approval
	raw, err := c.Do(&sessionsv1.GetApprovalRequest{ApprovalId: c.Args[0]}, &seen)
	if err != nil {
		return err
	}
	q := question.In(&seen)
	text := strings.Join(c.Args[1:], " ")
	switch {
	case len(c.Args) == 2:
		read, err := c.Argument(text)
		if err != nil {
			return err
		}
		text = string(read)
	case len(c.Args) == 1 && c.Interactive:
		if err := output.Fields(c.Err, raw); err != nil {
			return err
		}
		c.Note("%s", q.Prompt())
		lines, failed := question.Lines(c.Ctx, c.In)
		line, ok := <-lines
		if !ok {
			return <-failed
		}
		text = line
	case len(c.Args) == 1:
		return app.Usage("say the answer: %s (%s decide %s ANSWER)", q.Prompt(), c.Self, q.ID)
	}
	if q.Kind == turnv1.WaitKind_WAIT_KIND_CHILD {
		return app.Usage("%s waits for another agent's turn, not for a person", q.ID)
	}
	req, ok := q.Answer(text)
	if !ok {
		return app.Usage("%q does not answer %s: %s", output.Cell(text), q.ID, q.Prompt())
	}
	return question.Send(c, req)
}
