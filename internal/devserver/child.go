package devserver

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
)

func arguments(addr, ui, file string, c Certificates) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("temporal address %q: want host:port: %w", addr, err)
	}
	args := []string{"--ip", host, "--port", port, "--db-filename", file, "--exit-with-parent"}
	if c != (Certificates{}) {
		args = append(args, "--tls-cert", c.Server, "--tls-key", c.Server, "--tls-ca", c.CA, "--tls-server-name", ServerName)
	}
	if ui == "" {
		return append(args, "--headless"), nil
	}
	uiHost, uiPort, err := net.SplitHostPort(ui)
	if err != nil {
		return nil, fmt.Errorf("temporal UI address %q: want host:port: %w", ui, err)
	}
	return append(args, "--ui-ip", uiHost, "--ui-port", uiPort), nil
}

// environment passes on only what the server needs: no keys of models or tools.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// tail logs the child's lines and keeps the last ones for an error message.
type tail struct {
	log *slog.Logger

	mu    sync.Mutex
	part  []byte
	lines []string
}

const tailLines = 4

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, p...)
	for {
		line, rest, ok := bytes.Cut(t.part, []byte("\n"))
		if !ok {
			break
		}
		t.part = rest
		t.keep(strings.TrimSpace(string(line)))
	}
	return len(p), nil
}

func (t *tail) keep(line string) {
	if line == "" {
		return
	}
	t.log.Debug("temporal server says", "line", line)
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// inUse is the beginning of the child's message when another server uses its database.
const inUse = "another server (pid "

// failure returns why the child ended before it was ready.
func (t *tail) failure() error {
	last := t.last()
	if strings.Contains(last, inUse) {
		return fmt.Errorf("the Temporal server does not start: %w: %s", errInUse, last)
	}
	return fmt.Errorf("the Temporal server does not start: %s", last)
}

// last returns the newest lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(strings.TrimSpace(string(t.part))) // a line that the child did not end
	t.part = nil
	if len(t.lines) == 0 {
		return "it ended without a word"
	}
	return strings.Join(t.lines, "; ")
}
