package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/fault"
)

// maxLine limits one line of a chat in bytes: the maximum input of a turn.
const maxLine = 1 << 20

func chatCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "chat [MESSAGE]", Short: "Talk to an agent",
		Long: "Talk to an agent. Without MESSAGE each line of standard input is a message; empty lines are skipped.\n" +
			"Ctrl-C cancels the running turn; a second one, or one while nothing runs, exits. On a terminal /help lists commands,\n" +
			"and the arrow keys edit the line and bring back earlier ones; --session shows what was said before.\n" +
			"Approvals and answers that a turn waits for are asked for on a terminal; elsewhere the command ends with exit code 6.\n" +
			"On a terminal the answer appears as it is written; elsewhere each message and tool call is printed when it is whole.",
		Example: "  windlass chat\n  windlass chat 'What is 17 * 23?'\n  windlass chat --session ses_… 'And twice that?'",
		Args:    cobra.ArbitraryArgs, RunE: run(a, runChat),
	}
	cmd.Flags().String("session", "", "go on with this session")
	cmd.Flags().String("agent", "", "agent of a new session")
	cmd.Flags().String("params", "", "params of a new session, as JSON")
	return cmd
}

func runCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run AGENT TEXT…", Short: "Give an agent one input in a new session, and show its answer",
		Long: "Give an agent one input in a new session, and show its answer, as 'windlass chat' does.\n" +
			"What the turn waits for is asked for on a terminal; elsewhere the command ends with exit code 6. TEXT - reads standard input.",
		Example: "  windlass run assistant 'What is 17 * 23?'\n  git diff | windlass run reviewer -",
		Args:    cobra.MinimumNArgs(2), RunE: run(a, runOnce),
	}
	cmd.Flags().String("params", "", "params of the session, as JSON")
	return cmd
}

func runOnce(c *call) error {
	input := strings.Join(c.args[1:], " ")
	if input == "-" {
		raw, err := c.ReadIn()
		if err != nil {
			return err
		}
		input = string(raw)
	}
	if strings.TrimSpace(input) == "" {
		return app.Usage("the input is empty")
	}
	return talk(c, "", c.args[0], input)
}

// chat is one conversation.
type chat struct {
	*call
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

func runChat(c *call) error {
	if flag(c.cmd, "session") != "" && flag(c.cmd, "agent")+flag(c.cmd, "params") != "" {
		return app.Usage("a session has its agent and params already: give --session, or --agent and --params")
	}
	return talk(c, flag(c.cmd, "session"), flag(c.cmd, "agent"), strings.Join(c.args, " "))
}

// talk sends one message, or converses if there is none, in a session or in a new one with an agent.
func talk(c *call, session, agent, message string) (err error) {
	ch := &chat{call: c, session: session, agent: agent}
	if ch.session == "" {
		s, err := newSession(c, agent)
		if err != nil {
			return err
		}
		ch.session = s.GetId()
	}
	release := c.OnInterrupt(ch.interrupt)
	defer release()
	defer ch.cancels.Wait()
	defer func() {
		if app.ExitCode(err) != app.ExitNotFound {
			ch.note("Go on with: %s chat --session %s", c.Self, ch.session)
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

// converse sends standard input line by line.
func (ch *chat) converse() error {
	done, err := ch.typing()
	if err != nil {
		return err
	}
	defer done()
	if ch.Interactive {
		if flag(ch.cmd, "session") != "" {
			if err := ch.resume(ch.session); err != nil {
				return err
			}
		}
		ch.note("Session %s. /help lists commands, Ctrl-D exits.", ch.session)
	}
	var last error
	for {
		ch.request("> ")
		select {
		case <-ch.ctx.Done():
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
		over, err = ch.command(line)
	default:
		err = ch.ask(line)
	}
	_, ofTurn := errors.AsType[*app.TurnError](err)
	_, usage := errors.AsType[*app.UsageError](err)
	switch {
	case err == nil || ch.ctx.Err() != nil:
		return over || ch.ctx.Err() != nil, err
	case ch.Interactive && (ofTurn || usage || fault.As(err) != nil):
		ch.note("%s", app.Explain(hint.Commands(err)))
		return over, nil //nolint:nilerr // the person was told
	}
	return over || !ofTurn, err
}

// readLines reads in the background, since a read cannot be interrupted.
func readLines(ctx context.Context, r io.Reader) (lines <-chan string, failed <-chan error) {
	out, end := make(chan string), make(chan error, 1)
	go func() {
		defer close(out)
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, maxLine)
		mark := app.Mark // the first line may begin with it
		for ; sc.Scan(); mark = "" {
			select {
			case out <- strings.TrimPrefix(sc.Text(), mark):
			case <-ctx.Done():
				end <- nil
				return
			}
		}
		end <- sc.Err()
	}()
	return out, end
}

// ask runs one turn and shows it.
func (ch *chat) ask(message string) error {
	t, err := sendInput(ch.call, ch.session, message)
	if err != nil {
		return err
	}
	ch.running(t.GetId())
	defer ch.running("")
	r := &round{ch: ch, turn: t.GetId(), view: show.NewView(ch.App)}
	if err := r.follow(); err != nil {
		return err
	}
	return turnResult(r.turn, r.end)
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
	ch.note("\ncancelling… (Ctrl-C again exits)")
	ch.cancels.Go(func() {
		c := *ch.call
		ctx, stop := context.WithTimeout(c.ctx, 10*time.Second)
		defer stop()
		c.ctx = ctx
		if _, err := requestCancel(&c, turn, "cancelled in chat"); err != nil && ch.ctx.Err() == nil {
			ch.note("cannot cancel: %s", app.Explain(err))
		}
	})
	return true
}
