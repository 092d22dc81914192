package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/server/common/headers"
)

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2

	// stopTimeout bounds a clean stop, which normally takes one second: the frontend's fixed drain time.
	stopTimeout = 10 * time.Second
)

// version is set by the linker in release builds.
var version = "dev"

// program is one run of the command. Tests replace its external dependencies.
type program struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	reserve func(host string, port int) (ports, error)
}

func newProgram() *program {
	return &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, reserve: reservePorts}
}

// execute runs the command and returns its exit code.
func (p *program) execute(args []string) int {
	opts, err := parseOptions(args, p.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		p.complain(err)
		return exitUsage
	case opts.version:
		fmt.Fprintf(p.stdout, "windlass-temporal %s (Temporal server %s)\n", version, headers.ServerVersion)
		return exitOK
	}
	limitMemory(opts)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if opts.exitWithParent {
		go exitAtEnd(p.stdin)
	}
	// A second signal, or a stop that hangs, must not need a kill -9.
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(stopTimeout, func() {
			p.complain(fmt.Errorf("stop took longer than %s, giving up", stopTimeout))
			os.Exit(exitError)
		})
	})
	if err := p.run(ctx, opts); err != nil && !errors.Is(err, context.Canceled) {
		p.complain(err)
		return exitError
	}
	return exitOK
}

// run starts everything in dependency order, prints the ready line, waits for the end of ctx and stops in reverse order.
func (p *program) run(ctx context.Context, opts options) error {
	log, level := p.logger(opts)
	worker.SetBinaryChecksum(version + "-" + headers.ServerVersion) // the SDK reads the whole program for it otherwise
	trusted, err := loadCertificates(opts.tls)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, opts.dbFile)
	if err != nil {
		return err
	}
	defer db.close()
	if err := ensureNamespaces(ctx, db.sql, opts.namespaces, opts.searchAttributes); err != nil {
		return err
	}
	ui, err := listenUI(opts, trusted)
	if err != nil {
		return err
	}
	defer ui.close()
	srv, err := p.startServer(opts, db, trusted, log)
	if err != nil {
		return err
	}
	defer func() {
		ui.close() // before the server, of which it is a client
		srv.stop(log, level)
	}()
	if err := waitReady(ctx, srv.address, trusted, opts.namespaces); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting: a clean end
		}
		return err
	}
	failed, err := ui.serve(srv.address, opts)
	if err != nil {
		return err
	}
	if err := p.announce(srv.address, ui.url()); err != nil {
		return err
	}
	// Starting uses far more memory than idling: return it once.
	debug.FreeOSMemory()
	trimStartPages()

	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("the web UI stopped: %w", err)
	}
}

// logger returns the log, and its level. The UI's libraries log through package log, what they say is for debugging.
func (p *program) logger(opts options) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(opts.logLevel)
	log := newLogger(p.stderr, level, opts.logJSON)
	stdlog.SetFlags(0)
	stdlog.SetOutput(slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer())
	return log, level
}

// announce prints the line that the parent process waits for. Nothing else is ever written to stdout.
func (p *program) announce(address, ui string) error {
	line, err := json.Marshal(struct {
		Ready   bool   `json:"ready"`
		Address string `json:"address"`
		UI      string `json:"ui,omitempty"`
		PID     int    `json:"pid"`
	}{Ready: true, Address: address, UI: ui, PID: os.Getpid()})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "%s\n", line); err != nil {
		return fmt.Errorf("print the ready line: %w", err)
	}
	return nil
}

func (p *program) complain(err error) {
	fmt.Fprintf(p.stderr, "windlass-temporal: %v\n", err)
}

// limitMemory bounds the garbage. It does not override GOMEMLIMIT in the environment.
func limitMemory(opts options) {
	if opts.memoryLimit > 0 && (opts.memoryLimitSet || os.Getenv("GOMEMLIMIT") == "") {
		debug.SetMemoryLimit(opts.memoryLimit)
	}
}

// exitAtEnd ends the process when the reader ends. The parent holds the other end of our stdin, so this happens when the parent is gone,
// even by a kill -9. There is no graceful stop then: the next parent may be waiting for the file, and committed data is as safe as after a
// kill. A parent that stops in order sends SIGTERM.
func exitAtEnd(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin) // an error also ends it
	os.Exit(exitOK)
}
