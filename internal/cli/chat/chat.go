// Package chat has the commands that talk to an agent.
package chat

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Commands returns "windlass chat" and "windlass run".
func Commands(r *command.Runner) []*cobra.Command {
	return []*cobra.Command{chatCommand(r), runCommand(r)}
}

func chatCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "chat [MESSAGE]", Short: "Talk to an agent",
		Long: "Talk to an agent. Without MESSAGE each line of standard input is a message; empty lines are skipped.\n" +
			"Ctrl-C cancels the running turn; a second one, or one while nothing runs, exits. On a terminal /help lists commands,\n" +
			"and the arrow keys edit the line and bring back earlier ones; --session shows what was said before.\n" +
			"Approvals and answers that a turn waits for are asked for on a terminal; elsewhere the command ends with exit code 6.\n" +
			"On a terminal the answer appears as it is written; elsewhere each message and tool call is printed when it is whole.",
		Example: "  windlass chat\n  windlass chat 'What is 17 * 23?'\n  windlass chat --session ses_… 'And twice that?'",
		Args:    cobra.ArbitraryArgs, RunE: r.Run(runChat),
	}
	cmd.Flags().String("session", "", "go on with this session")
	cmd.Flags().String("agent", "", "agent of a new session")
	cmd.Flags().String("params", "", "params of a new session, as JSON")
	return cmd
}

func runCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run AGENT TEXT…", Short: "Give an agent one input in a new session, and show its answer",
		Long: "Give an agent one input in a new session, and show its answer, as 'windlass chat' does.\n" +
			"What the turn waits for is asked for on a terminal; elsewhere the command ends with exit code 6. TEXT - reads standard input.",
		Example: "  windlass run assistant 'What is 17 * 23?'\n  git diff | windlass run reviewer -",
		Args:    cobra.MinimumNArgs(2), RunE: r.Run(runOnce),
	}
	cmd.Flags().String("params", "", "params of the session, as JSON")
	return cmd
}

func runOnce(c *command.Call) error {
	input, err := c.Input(c.Args[1:])
	if err != nil {
		return err
	}
	if strings.TrimSpace(input) == "" {
		return app.Usage("the input is empty")
	}
	return talk(c, "", c.Args[0], input)
}

// chat is one conversation.
type chat struct {
	*command.Call
	session string
	agent   string // of new sessions
	// lines are what the person types, nil if nothing is read; unread is why there are no more. request asks for one with a prompt.
	lines   <-chan string
	unread  <-chan error
	request func(prompt string)

	mu        sync.Mutex
	turn      string // the running turn
	cancelled bool
	cancels   sync.WaitGroup
}

func runChat(c *command.Call) error {
	if c.Flag("session") != "" && c.Flag("agent")+c.Flag("params") != "" {
		return app.Usage("a session has its agent and params already: give --session, or --agent and --params")
	}
	return talk(c, c.Flag("session"), c.Flag("agent"), strings.Join(c.Args, " "))
}

// talk sends one message, or converses if there is none, in a session or in a new one with an agent.
func talk(c *command.Call, session, agent, message string) (err error) {
	ch := &chat{Call: c, session: session, agent: agent}
	if ch.session == "" {
		if err := ch.open(); err != nil {
			return err
		}
	}
	release := c.OnInterrupt(ch.interrupt)
	defer release()
	defer ch.cancels.Wait()
	defer func() {
		if app.ExitCode(err) != app.ExitNotFound {
			ch.Note("Go on with: %s chat --session %s", c.Self, ch.session)
		}
	}()
	if message == "" {
		return ch.converse()
	}
	if ch.Interactive { // for answers; that nothing more can be read ends the questions
		done, err := ch.typing()
		if err != nil {
			return err
		}
		defer done()
	}
	return ch.ask(message)
}

// open opens a new session.
func (ch *chat) open() error {
	req := &sessionsv1.CreateSessionRequest{AgentId: ch.agent}
	if err := ch.AddParams(req); err != nil {
		return err
	}
	var s sessionsv1.Session
	if _, err := ch.Do(req, &s); err != nil {
		return err
	}
	ch.session = s.GetId()
	return nil
}

// converse sends standard input line by line.
func (ch *chat) converse() error {
	done, err := ch.typing()
	if err != nil {
		return err
	}
	defer done()
	if ch.Interactive {
		if ch.Flag("session") != "" {
			if err := ch.resume(ch.session); err != nil {
				return err
			}
		}
		ch.Note("Session %s. /help lists commands, Ctrl-D exits.", ch.session)
	}
	var last error
	for {
		ch.request("> ")
		select {
		case <-ch.Ctx.Done():
			return nil // exited at the prompt
		case line, ok := <-ch.lines:
			if !ok {
				if ch.unread != nil {
					err = <-ch.unread
				}
				return errors.Join(last, err)
			}
			var over bool
			if over, last = ch.entered(line); over {
				return last
			}
		}
	}
}

// entered handles a line that was typed. An error that the person was told of is not returned.
func (ch *chat) entered(line string) (over bool, err error) {
	switch {
	case strings.TrimSpace(line) == "":
		return false, nil
	case ch.Interactive && strings.HasPrefix(line, "/"):
		over, err = ch.slash(line)
	default:
		err = ch.ask(line)
	}
	_, ofTurn := errors.AsType[*app.TurnError](err)
	_, usage := errors.AsType[*app.UsageError](err)
	switch {
	case err == nil || ch.Ctx.Err() != nil:
		return over || ch.Ctx.Err() != nil, err
	case ch.Interactive && (ofTurn || usage || fault.As(err) != nil):
		ch.Note("%s", app.Explain(hint.Commands(err)))
		return over, nil //nolint:nilerr // the person was told
	}
	return over || !ofTurn, err
}

// ask runs one turn and shows it.
func (ch *chat) ask(message string) error {
	t, err := ch.send(message)
	if err != nil {
		return err
	}
	ch.running(t.GetId())
	defer ch.running("")
	r := &round{ch: ch, turn: t.GetId(), view: show.NewView(ch.App)}
	if err := r.follow(); err != nil {
		return err
	}
	return follow.Result(r.turn, r.end)
}

// send creates a turn. It retries once if the connection fails, which the key makes safe.
func (ch *chat) send(input string) (*sessionsv1.Turn, error) {
	req := &sessionsv1.CreateTurnRequest{SessionId: ch.session, Input: input, IdempotencyKey: ids.New(ids.Event)}
	var t sessionsv1.Turn
	_, err := ch.Do(req, &t)
	if command.Unreachable(err) && ch.Ctx.Err() == nil {
		_, err = ch.Do(req, &t)
	}
	return &t, err
}

func (ch *chat) running(turn string) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.turn, ch.cancelled = turn, false
}

// interrupt cancels the running turn once; after that, or if none runs, Ctrl-C exits.
func (ch *chat) interrupt() bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.turn == "" || ch.cancelled {
		return false
	}
	ch.cancelled = true
	turn := ch.turn
	ch.Note("\ncancelling… (Ctrl-C again exits)")
	ch.cancels.Go(func() {
		ctx, stop := context.WithTimeout(ch.Ctx, 10*time.Second)
		defer stop()
		req := &sessionsv1.CancelTurnRequest{TurnId: turn, Reason: "cancelled in chat"}
		if _, err := ch.Client.Invoke(ctx, req, nil); err != nil && ch.Ctx.Err() == nil {
			ch.Note("cannot cancel: %s", app.Explain(err))
		}
	})
	return true
}
