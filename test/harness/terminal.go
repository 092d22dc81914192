package harness

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Screen is what a program wrote to its terminal.
type Screen struct {
	t    testing.TB
	tty  *os.File
	mu   sync.Mutex
	text string
	at   int // up to where expect has read
	news chan struct{}
	done chan error
}

// Terminal runs windlass in a pseudo-terminal of 40 lines of 150 characters.
func Terminal(t testing.TB, home, server string, args ...string) *Screen {
	t.Helper()
	cmd := exec.Command(Bin(t, "windlass"), args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WINDLASS_SERVER=" + server, "TERM=xterm", "NO_COLOR=1", RaceOptions}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 150})
	Must(t, err)
	s := &Screen{t: t, tty: tty, news: make(chan struct{}, 1), done: make(chan error, 1)}
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

// Expect waits until a text appears after what was expected before.
func (s *Screen) Expect(text string) {
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

// Enter types keys.
func (s *Screen) Enter(keys string) {
	s.t.Helper()
	_, err := s.tty.WriteString(keys)
	Must(s.t, err)
}

// Ended waits for the end of the program and returns its exit code.
func (s *Screen) Ended() int {
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
