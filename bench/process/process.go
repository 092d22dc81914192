// Package process runs the programs of a benchmark.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Timeouts of programs.
const (
	startPatience = 90 * time.Second
	stopPatience  = 25 * time.Second
)

// Process is a running program that printed its JSON ready line.
type Process struct {
	// Name is what it was started as.
	Name string

	cmd   *exec.Cmd
	ready map[string]any
	stdin io.Closer
	tail  *tail
	done  chan struct{}
	err   error
}

// passed lists the variables that programs inherit from us. CPU_PROFILE is for those of `make profile`.
var passed = []string{"PATH", "HOME", "CPU_PROFILE"}

// Start starts a program with a minimal environment, and waits for its ready line. Its output goes to verbose, and its last lines into
// errors.
func Start(ctx context.Context, name string, verbose io.Writer, path string, args ...string) (*Process, error) {
	p := &Process{Name: name, done: make(chan struct{}), tail: &tail{to: verbose, name: name}}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, args...) // stopped by Stop, in order
	for _, name := range passed {
		p.cmd.Env = append(p.cmd.Env, name+"="+os.Getenv(name))
	}
	p.cmd.Stderr = p.tail
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s (run `make build` first?): %w", name, err)
	}
	line := make(chan map[string]any, 1)
	go p.wait(out, line)
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case p.ready = <-line:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%s ended before it was ready (%w): %s", name, p.err, p.tail.last())
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // may already be gone
		<-p.done
		return nil, fmt.Errorf("%s is not ready (%w): %s", name, ctx.Err(), p.tail.last())
	}
}

// wait reads the ready line, forwards the rest and waits for the end.
func (p *Process) wait(out io.Reader, line chan<- map[string]any) {
	defer close(p.done)
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		var ready map[string]any
		if json.Unmarshal(sc.Bytes(), &ready) == nil {
			line <- ready
			break
		}
	}
	_, _ = io.Copy(p.tail, out) // ends with the process
	p.err = p.cmd.Wait()
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Text returns a text of the ready line.
func (p *Process) Text(key string) string {
	s, _ := p.ready[key].(string)
	return s
}

// Number returns a number of the ready line; 0 if it has none.
func (p *Process) Number(key string) int {
	n, _ := p.ready[key].(float64)
	return int(n)
}

// Stop asks the program to end, and kills it if it does not.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // may already be gone
	select {
	case <-p.done:
		return nil
	case <-time.After(stopPatience):
	}
	_ = p.cmd.Process.Kill() // as above
	<-p.done
	return fmt.Errorf("%s did not stop in %s and was killed", p.Name, stopPatience)
}

// tail keeps the last lines that a program wrote.
type tail struct {
	to   io.Writer
	name string

	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if t.to != nil {
			fmt.Fprintf(t.to, "[%s] %s\n", t.name, line)
		}
		t.lines = append(t.lines, line)
	}
	t.lines = t.lines[max(0, len(t.lines)-10):]
	return len(b), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
