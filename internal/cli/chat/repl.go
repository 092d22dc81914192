package chat

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/lineedit"
	"github.com/windlass-dev/windlass/internal/cli/question"
	"github.com/windlass-dev/windlass/internal/cli/show"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// help lists what a person may type at the prompt.
const help = `/new            open a new session with the same agent
/sessions       list the latest sessions
/session ID     go on with another session
/help           show this
/exit           leave (as Ctrl-D does)
Ctrl-C cancels the running turn. Arrow keys edit the line and bring back earlier ones.`

// typing reads what the person types: with an editor on a terminal, else line by line.
func (ch *chat) typing() (done func(), err error) {
	in, inOK := ch.In.(*os.File)
	out, outOK := ch.Out.(*os.File)
	if !ch.Interactive || !ch.Terminal || !inOK || !outOK {
		ch.lines, ch.unread = question.Lines(ch.Ctx, ch.In)
		ch.request = func(prompt string) {
			if ch.Interactive {
				_, _ = fmt.Fprint(ch.Err, prompt) // best effort
			}
		}
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ch.Ctx)
	editor, err := lineedit.Open(in, out, lineedit.ReadHistory(ch.State.File("history")), func() {
		if !ch.interrupt() {
			cancel()
		}
	})
	if err != nil {
		cancel()
		return nil, err
	}
	c := *ch.Call
	c.Ctx = ctx
	ch.Call = &c
	was := [2]io.Writer{ch.Out, ch.Err}
	ch.Out, ch.Err = editor, editor
	ch.lines, ch.unread, ch.request = editor.Lines(), nil, editor.Request
	return func() {
		ch.Out, ch.Err = was[0], was[1]
		if err := editor.Close(); err != nil {
			ch.Note("the terminal is not as it was: %s", err)
		}
		cancel()
	}, nil
}

// slash runs a line that begins with a slash. It reports whether the chat is over.
func (ch *chat) slash(line string) (over bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "/exit", "/quit":
		return true, nil
	case "/help":
		ch.Note("%s", help)
	case "/new":
		if err := ch.open(); err != nil {
			return false, err
		}
		ch.Note("Session %s.", ch.session)
	case "/sessions":
		n := ch.Noun("session")
		items, _, err := ch.Client.List(ch.Ctx, n.List, nil, 10)
		if err != nil {
			return false, err
		}
		_, rows, err := n.Rows(items, ch.Now)
		if err != nil {
			return false, err
		}
		return false, n.Table(ch.Call, rows)
	case "/session":
		id, err := ch.Whole("session", rest)
		if err != nil {
			return false, err
		}
		return false, ch.resume(id)
	default:
		return false, app.Usage("there is no command %s; /help lists them. A message that begins with a slash needs a space before it", word)
	}
	return false, nil
}

// resume goes on with a session, and shows the end of what was said in it.
func (ch *chat) resume(id string) error {
	const earlier = 20
	all, _, err := ch.Client.List(ch.Ctx, &sessionsv1.ListMessagesRequest{SessionId: id}, nil, 0)
	if err != nil {
		return err
	}
	if n := len(all) - earlier; n > 0 {
		ch.Note("… %d earlier messages: %s session messages %s", n, ch.Self, id)
		all = all[n:]
	}
	if err := show.Conversation(ch.Err, all); err != nil {
		return err
	}
	ch.session = id
	ch.Note("Session %s.", id)
	return nil
}
