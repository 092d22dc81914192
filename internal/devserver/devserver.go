// Package devserver runs the embedded Temporal server as a child process and keeps it running.
package devserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// Program is the name of the server's program, found beside our own or on PATH.
const Program = "windlass-temporal"

const (
	// orphanTime is how long the orphaned child of a killed parent may take to stop, orphanPause the time between attempts.
	orphanTime  = 20 * time.Second
	orphanPause = 100 * time.Millisecond
)

// errInUse means that another server uses the database.
var errInUse = errors.New("the database is in use")

// Config configures the server.
type Config struct {
	// Path is the program; empty looks beside the running executable, then on PATH.
	Path string
	// Addr and UIAddr are "host:port"; port 0 picks one, which is kept across restarts.
	Addr, UIAddr string
	// CodecEndpoint is the URL at which the UI has payloads decoded; empty for none.
	CodecEndpoint string
	// File is the database file.
	File string
	// Certificates make the server accept only clients with a certificate; the zero value leaves it open to all.
	Certificates Certificates
	// Log receives the child's messages.
	Log *slog.Logger
}

// Server is a running child. It is restarted when it dies.
type Server struct {
	cfg    Config
	path   string
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	child *child
}

// ready is the line that the program prints once it serves.
type ready struct {
	Ready   bool   `json:"ready"`
	Address string `json:"address"`
	UI      string `json:"ui"`
	PID     int    `json:"pid"`
}

type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready ready
	// exited is closed when the process is gone; err is its error.
	exited chan struct{}
	err    error
}

// Start runs the server and returns once it serves. ctx bounds only the start.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	path, err := find(cfg.Path)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, path: path, done: make(chan struct{})}
	c, err := s.first(ctx)
	if err != nil {
		return nil, err
	}
	s.child = c
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.supervise(run)
	return s, nil
}

// Address returns the address of the frontend.
func (s *Server) Address() string { return s.current().ready.Address }

// UI returns the URL of the web UI, empty if there is none. With certificates it is an https URL for clients that have one.
func (s *Server) UI() string { return s.current().ready.UI }

// PID returns the child's present process id.
func (s *Server) PID() int { return s.current().ready.PID }

func (s *Server) current() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child
}

// Stop stops the child and waits for it; when ctx ends the child is killed.
func (s *Server) Stop(ctx context.Context) error {
	s.cancel()
	<-s.done // soon: a start that is under way ends with it
	return s.current().stop(ctx)
}

func (c *child) stop(ctx context.Context) error {
	if err := terminate(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the Temporal server: %w", err)
	}
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill the Temporal server: %w", err)
		}
		<-c.exited
		return ctx.Err()
	}
}

// first starts the first child. A killed parent leaves a child that takes a moment to stop; first waits for that.
func (s *Server) first(ctx context.Context) (*child, error) {
	deadline := time.Now().Add(orphanTime)
	for {
		c, err := s.spawn(ctx, s.cfg.Addr, s.cfg.UIAddr)
		if !errors.Is(err, errInUse) || time.Now().After(deadline) {
			return c, err
		}
		if ended := backoff.Sleep(ctx, orphanPause); ended != nil {
			return nil, errors.Join(err, ended)
		}
	}
}

// supervise starts a new child at the same addresses whenever one dies.
func (s *Server) supervise(ctx context.Context) {
	defer close(s.done)
	for {
		c := s.current()
		select {
		case <-ctx.Done():
			return
		case <-c.exited:
		}
		s.cfg.Log.ErrorContext(ctx, "temporal server died; starting it again", "error", c.err)
		next, err := s.respawn(ctx, c.ready)
		if err != nil {
			return // only if ctx ended
		}
		s.mu.Lock()
		s.child = next
		s.mu.Unlock()
		s.cfg.Log.InfoContext(ctx, "temporal server is back", "address", next.ready.Address)
	}
}

func (s *Server) respawn(ctx context.Context, old ready) (*child, error) {
	ui := strings.TrimPrefix(strings.TrimPrefix(old.UI, "http://"), "https://")
	for pauses := (backoff.Policy{First: 100 * time.Millisecond, Max: 5 * time.Second}).Start(); ; {
		c, err := s.spawn(ctx, old.Address, ui)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait := pauses.Next()
		s.cfg.Log.ErrorContext(ctx, "temporal server does not start", "error", err, "retry_in", wait)
		if err := backoff.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (s *Server) spawn(ctx context.Context, addr, ui string) (*child, error) {
	args, err := arguments(addr, ui, s.cfg.File, s.cfg.Certificates)
	if err != nil {
		return nil, err
	}
	// ctx bounds the start, not the child.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.path, args...) //nolint:gosec // windlass-temporal, beside this program
	cmd.Env = append(environment(), "TEMPORAL_CODEC_ENDPOINT="+s.cfg.CodecEndpoint)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the Temporal server: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe from the Temporal server: %w", err)
	}
	tail := &tail{log: s.cfg.Log}
	cmd.Stderr = tail
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.path, err)
	}
	c := &child{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	lines := make(chan ready, 1)
	go c.wait(stdout, lines)
	select {
	case c.ready = <-lines:
		return c, nil
	case <-c.exited:
		return nil, tail.failure()
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("the Temporal server is not ready: %w", ctx.Err()), c.stop(ctx))
	}
}

// wait reads the ready line and then waits for the process to end.
func (c *child) wait(stdout io.Reader, lines chan<- ready) {
	defer close(c.exited)
	sc := bufio.NewScanner(stdout)
	for sc.Scan() {
		var r ready
		if json.Unmarshal(sc.Bytes(), &r) == nil && r.Ready {
			lines <- r
			break
		}
	}
	_, copyErr := io.Copy(io.Discard, stdout)
	c.err = errors.Join(c.cmd.Wait(), copyErr)
}

// find looks for the program: at the configured path, beside us, on PATH.
func find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Program)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(Program)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside this program nor on PATH: run `make build`, or set temporal.address to a Temporal cluster",
			Program)
	}
	return found, nil
}
