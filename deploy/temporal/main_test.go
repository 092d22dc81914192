package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// childEnv makes the test binary act as the program, so that tests run real processes without building a second binary. Its value is a port
// that the first start finds taken, or empty.
const childEnv = "WINDLASS_TEMPORAL_TEST_CHILD"

func TestMain(m *testing.M) {
	taken, isChild := os.LookupEnv(childEnv)
	if !isChild {
		os.Exit(m.Run())
	}
	p := newProgram()
	if port, err := strconv.Atoi(taken); err == nil && os.Getenv(attemptEnv) == "" {
		p.reserve = func(host string, frontend int) (ports, error) {
			picked, err := reservePorts(host, frontend)
			picked.history = port
			return picked, err
		}
	}
	os.Exit(p.execute(os.Args[1:]))
}

// child is a running windlass-temporal.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *lockedBuffer
	ready  readyLine
	exited chan struct{} // closed when the process has ended
	lines  chan string
}

type readyLine struct {
	Ready   bool   `json:"ready"`
	Address string `json:"address"`
	UI      string `json:"ui"`
	PID     int    `json:"pid"`
}

// launch starts a child on free ports without waiting for it. It is killed when the test ends.
func launch(t *testing.T, env string, args ...string) *child {
	t.Helper()
	c := &child{stderr: &lockedBuffer{}, exited: make(chan struct{}), lines: make(chan string, 16)}
	c.cmd = exec.Command(os.Args[0], append([]string{"--port", "0", "--ui-port", "0"}, args...)...)
	c.cmd.Env = append(os.Environ(), childEnv+"="+env)
	c.cmd.Stderr = c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.exited)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			c.lines <- lines.Text()
		}
		close(c.lines)
		_ = c.cmd.Wait() // the state is in cmd.ProcessState
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
	})
	return c
}

// start launches a child and waits until it is ready.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	c := launch(t, "", args...)
	c.waitReady(t)
	return c
}

func (c *child) waitReady(t *testing.T) {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatalf("ended before it was ready:\n%s", c.stderr)
		}
		if err := json.Unmarshal([]byte(line), &c.ready); err != nil || !c.ready.Ready {
			t.Fatalf("ready line %q: %v", line, err)
		}
	case <-time.After(startTimeout):
		t.Fatalf("not ready:\n%s", c.stderr)
	}
}

// end waits for the process to end and returns its exit code.
func (c *child) end(t *testing.T) int {
	t.Helper()
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(startTimeout):
		t.Fatalf("still running:\n%s", c.stderr)
		return -1
	}
}

func (c *child) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func (c *child) conn(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+c.ready.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (c *child) frontend(t *testing.T) workflowservice.WorkflowServiceClient {
	t.Helper()
	return workflowservice.NewWorkflowServiceClient(c.conn(t))
}

// fails runs a child that must fail to start, and returns its error line.
func fails(t *testing.T, args ...string) string {
	t.Helper()
	c := launch(t, "", args...)
	if code := c.end(t); code != exitError {
		t.Fatalf("exit code %d:\n%s", code, c.stderr)
	}
	text := strings.TrimSpace(c.stderr.String())
	if strings.Count(text, "\n") != 0 {
		t.Errorf("more than one line:\n%s", text)
	}
	if line, ok := <-c.lines; ok {
		t.Errorf("printed %q on stdout", line)
	}
	return text
}

// dbFile returns a database path with characters that are special in a URI.
func dbFile(t *testing.T) string {
	return filepath.Join(t.TempDir(), "te#mp %41?.db")
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// takePort holds a loopback port until the test ends.
func takePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
