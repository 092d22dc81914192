package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

const left, up = "\x1b[D", "\x1b[A"

// TestAChatOnATerminal types into a real pseudo-terminal: editing, history, commands, an approval, Ctrl-C.
func TestAChatOnATerminal(t *testing.T) {
	t.Parallel()
	c := client(t)
	home := t.TempDir()
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "terminal", "tools": []string{"mesh__*"}, "model": "builtin/scripted",
		"approvals": []harness.JSON{{"name": "careful", "tools": []string{"mesh__uuid"}, "reason": "look at it", "allow_requester": true}},
	})
	s := harness.Terminal(t, home, c.Base, "chat", "--agent", "terminal")
	s.Expect("/help lists commands")
	s.Expect("> ")
	s.Enter("say:helo" + left + "l\r") // "hello" by an edit in the middle
	s.Expect("hello\r\n")
	s.Expect("> ")
	s.Enter(up + " again\r")
	s.Expect("again")
	s.Expect("> ")
	s.Enter("/help\r")
	s.Expect("open a new session")
	s.Expect("> ")
	s.Enter("/nope\r")
	s.Expect("there is no command /nope")
	s.Expect("> ")
	s.Enter("call:mesh__uuid {} then say:approved\r")
	s.Expect("approve? y or n")
	s.Expect("? ")
	s.Enter("y\r")
	s.Expect("approved by local")
	s.Expect("approved\r\n")
	s.Expect("> ")
	s.Enter(`slow:200 say:"one two three four five six seven eight nine ten eleven twelve"` + "\r")
	s.Expect("\r\n") // behind its echo
	s.Expect("one two")
	s.Enter("typed ahead\x03")
	s.Expect("cancelling")
	s.Expect("cancelled")
	s.Enter("\r") // what was typed ahead is the next message
	s.Expect("> ")
	s.Enter("/new\r")
	s.Expect("Session ses_")
	s.Enter("/sessions\r")
	s.Expect("ACTIVE TURN")
	s.Expect("> ")
	s.Enter("/exit\r")
	s.Expect("Go on with: windlass chat --session ses_")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	info, err := os.Stat(filepath.Join(home, ".local", "state", "windlass", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history is %v, %v", info, err)
	}

	first := c.Session("terminal")
	c.Wait(c.Turn(first, `say:"what came before"`))
	s = harness.Terminal(t, home, c.Base, "chat", "--session", first)
	s.Expect("assistant  what came before")
	s.Expect("> ")
	s.Enter(up + "\x04") // a line is there: Ctrl-D does nothing
	s.Expect("/exit")
	s.Enter("\r")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	s = harness.Terminal(t, home, c.Base, "run", "terminal", "call:mesh__uuid {} then say:fine")
	s.Expect("approve? y or n")
	s.Enter("n not now\r")
	s.Expect("denied by local (not now)")
	s.Expect("fine\r\n")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
