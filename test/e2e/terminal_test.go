package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/windlass-dev/windlass/test/harness"
)

// screen is what a program wrote to its terminal.
type screen struct {
	t    *testing.T
	tty  *os.File
	mu   sync.Mutex
	text string
	at   int // up to where expect has read
	news chan struct{}
	done chan error
}

// terminal runs windlass in a pseudo-terminal.
func terminal(t *testing.T, home, server string, args ...string) *screen {
	t.Helper()
	cmd := exec.Command(harness.Bin(t, "windlass"), args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WINDLASS_SERVER=" + server, "TERM=xterm", "NO_COLOR=1"}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 150})
	harness.Must(t, err)
	s := &screen{t: t, tty: tty, news: make(chan struct{}, 1), done: make(chan error, 1)}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			s.text += string(buf[:n])
			s.mu.Unlock()
			select {
			case s.news <- struct{}{}:
			default:
			}
			if err != nil { // the program ended
				s.done <- cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = tty.Close()
	})
	return s
}

// expect waits until a text appears after what was expected before.
func (s *screen) expect(text string) {
	s.t.Helper()
	timeout := time.After(time.Minute)
	for {
		s.mu.Lock()
		i := strings.Index(s.text[s.at:], text)
		if i >= 0 {
			s.at += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-s.news:
		case <-timeout:
			s.t.Fatalf("%q does not appear in %q", text, s.text[s.at:])
		}
	}
}

func (s *screen) enter(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	harness.Must(s.t, err)
}

// ended returns the exit code.
func (s *screen) ended() int {
	s.t.Helper()
	select {
	case err := <-s.done:
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as Wait returns it
			return exit.ExitCode()
		}
		return 0
	case <-time.After(time.Minute):
		s.t.Fatalf("the program does not end: %q", s.text)
		return -1
	}
}

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
	s := terminal(t, home, c.Base, "chat", "--agent", "terminal")
	s.expect("/help lists commands")
	s.expect("> ")
	s.enter("say:helo" + left + "l\r") // "hello" by an edit in the middle
	s.expect("hello\r\n")
	s.expect("> ")
	s.enter(up + " again\r")
	s.expect("again")
	s.expect("> ")
	s.enter("/help\r")
	s.expect("open a new session")
	s.expect("> ")
	s.enter("/nope\r")
	s.expect("there is no command /nope")
	s.expect("> ")
	s.enter("call:mesh__uuid {} then say:approved\r")
	s.expect("approve? y or n")
	s.expect("? ")
	s.enter("y\r")
	s.expect("approved by local")
	s.expect("approved\r\n")
	s.expect("> ")
	s.enter(`slow:200 say:"one two three four five six seven eight nine ten eleven twelve"` + "\r")
	s.expect("\r\n") // behind its echo
	s.expect("one two")
	s.enter("typed ahead\x03")
	s.expect("cancelling")
	s.expect("cancelled")
	s.enter("\r") // what was typed ahead is the next message
	s.expect("> ")
	s.enter("/new\r")
	s.expect("Session ses_")
	s.enter("/sessions\r")
	s.expect("ACTIVE TURN")
	s.expect("> ")
	s.enter("/exit\r")
	s.expect("Go on with: windlass chat --session ses_")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	info, err := os.Stat(filepath.Join(home, ".local", "state", "windlass", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history is %v, %v", info, err)
	}

	first := c.Session("terminal")
	c.Wait(c.Turn(first, `say:"what came before"`))
	s = terminal(t, home, c.Base, "chat", "--session", first)
	s.expect("assistant  what came before")
	s.expect("> ")
	s.enter(up + "\x04") // a line is there: Ctrl-D does nothing
	s.expect("/exit")
	s.enter("\r")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	s = terminal(t, home, c.Base, "run", "terminal", "call:mesh__uuid {} then say:fine")
	s.expect("approve? y or n")
	s.enter("n not now\r")
	s.expect("denied by local (not now)")
	s.expect("fine\r\n")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
