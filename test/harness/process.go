package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds how long a program may take until its ready line; only a failing test waits that long.
const startTimeout = 90 * time.Second

// RaceOptions is the environment of a program that is built with the race detector: it ends at the first race, and does not sleep for the
// usual second when it exits.
const RaceOptions = "GORACE=halt_on_error=1 exitcode=66 atexit_sleep_ms=0"

// shortSchedules lets tests wait for schedules.
const shortSchedules = "WINDLASS_SESSIONS_SCHEDULES_MIN_INTERVAL=1s"

// anyProgram lets tests start the programs they have built and written. The race detector of those maps terabytes.
func anyProgram() []string {
	return []string{
		"WINDLASS_MCPBRIDGE_PROGRAMS=*", "WINDLASS_WORKER_EXECUTORS_COMMANDS=*",
		"WINDLASS_MCPBRIDGE_LIMITS_MEMORY=0", "WINDLASS_WORKER_EXECUTORS_LIMITS_MEMORY=0",
	}
}

// Process is one running program.
type Process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	// Ready is the JSON line that the program printed when it was ready.
	Ready map[string]any

	line chan map[string]any // gets the ready line
	done chan struct{}
	err  error
	log  *logBuffer
	// stdin stays open for as long as the process shall live.
	stdin io.WriteCloser
}

// Start runs a program and waits for its JSON ready line. It is killed when the test ends. Its environment is env alone.
func Start(t testing.TB, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	p := Launch(t, name, env, path, args...)
	p.Await()
	return p
}

// Launch is Start without the wait.
func Launch(t testing.TB, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	p := &Process{
		t: t, name: name, cmd: exec.Command(path, args...), done: make(chan struct{}), line: make(chan map[string]any, 1),
		log: &logBuffer{},
	}
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), RaceOptions, shortSchedules,
	}, slices.Concat(anyProgram(), env)...)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go p.read(out)
	t.Cleanup(p.finish)
	return p
}

// Await waits for the ready line of a launched program.
func (p *Process) Await() {
	p.t.Helper()
	if p.Ready != nil {
		return
	}
	select {
	case p.Ready = <-p.line:
	case <-p.done:
		p.t.Fatalf("%s ended before it was ready (%v):\n%s", p.name, p.err, p.log.String())
	case <-time.After(startTimeout):
		p.t.Fatalf("%s is not ready:\n%s", p.name, p.log.String())
	}
}

// settled waits until the program is ready or has ended, and reports whether it is ready.
func (p *Process) settled() bool {
	if p.Ready != nil {
		return true
	}
	select {
	case p.Ready = <-p.line:
		return true
	case <-p.done:
		return false
	case <-time.After(startTimeout):
		return true // not ended: Await tells
	}
}

func (p *Process) read(out io.Reader) {
	defer close(p.done)
	line := p.line
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var ready map[string]any
		if json.Unmarshal(sc.Bytes(), &ready) == nil && line != nil {
			line <- ready
			line = nil
			continue
		}
		if _, err := p.log.Write(append(sc.Bytes(), '\n')); err != nil {
			return // a buffer in memory takes everything
		}
	}
	p.err = p.cmd.Wait()
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process at once, as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Gone reports whether the process has ended.
func (p *Process) Gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %s: %v", p.name, err)
	}
}

// Wait waits for the process's end and gives its exit code.
func (p *Process) Wait() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Stop asks the process to end, as an operator or an orchestrator does, and gives its exit code.
func (p *Process) Stop() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// RSS is the memory that the process holds, in bytes.
func (p *Process) RSS() int {
	p.t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/statm")
	if err != nil {
		p.t.Skipf("memory of processes can only be read on Linux: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// Log is what the process wrote so far, besides its ready line.
func (p *Process) Log() string { return p.log.String() }

// finish kills what still runs, and fails the test when the race detector spoke.
func (p *Process) finish() {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Kill() // it may be gone meanwhile
		<-p.done
	}
	if _, after, found := strings.Cut(p.log.String(), "WARNING: DATA RACE"); found {
		report, _, _ := strings.Cut(after, "==================")
		p.t.Errorf("%s has a data race:%s", p.name, report)
	}
	if p.t.Failed() {
		p.t.Logf("--- %s said:\n%s", p.name, p.log.tail(60))
	}
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all of it.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
