// Package app is the common part of our commands: standard streams, signals, and exit codes.
package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Exit codes of all commands.
const (
	ExitOK         = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitNotFound   = 3
	ExitDenied     = 4
	ExitTurnFailed = 5
	ExitWaiting    = 6
)

// App is the environment of one command.
type App struct {
	// Version is the version of the build; empty reads it from the binary.
	Version string
	// In, Out and Err are the standard streams. Results go to Out, everything else to Err.
	In       io.Reader
	Out, Err io.Writer
	// Environ is the environment in the form of os.Environ.
	Environ []string
	// Terminal means that Out is a terminal: colours and redrawing are allowed.
	Terminal bool
	// Interactive means that In is a terminal: a person can be asked.
	Interactive bool
	// Self is the command as the user typed it, for hints: "windlass" or "bin/windlass".
	Self string

	signals signals
	started bool
}

// OS returns the environment of this process.
func OS(version string) *App {
	return &App{
		Version: version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Self: self(os.Args[0]), Terminal: term.IsTerminal(int(os.Stdout.Fd())), Interactive: term.IsTerminal(int(os.Stdin.Fd())),
	}
}

// self returns the command as it was typed if that is windlass: `make up` starts bin/windlass, which may not be on PATH.
func self(arg0 string) string {
	if filepath.Base(arg0) == "windlass" && !filepath.IsAbs(arg0) {
		return arg0
	}
	return "windlass"
}

// Getenv returns an environment variable, "" if it is not set.
func (a *App) Getenv(name string) string {
	for _, kv := range a.Environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// Mark is the byte order mark, with which pipes on Windows begin a text. It is no part of the text.
const Mark = "\ufeff"

// ReadIn reads standard input to its end.
func (a *App) ReadIn() ([]byte, error) {
	raw, err := io.ReadAll(a.In)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return bytes.TrimPrefix(raw, []byte(Mark)), nil
}

// Colour reports whether Out may be coloured: it is a terminal that has colours, and NO_COLOR (no-color.org) is not set.
func (a *App) Colour() bool {
	return a.Terminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// Main runs a command with the process's arguments and returns the exit code. The command's context ends at the first SIGINT or SIGTERM; a
// second one ends the process at once.
func (a *App) Main(ctx context.Context, root *cobra.Command, args []string) int {
	ctx, stop := a.signals.watch(ctx)
	defer stop()
	return a.Execute(ctx, root, args)
}

// Execute runs a command without handling signals.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetArgs(args)
	root.PersistentPreRun = func(*cobra.Command, []string) { a.started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	code := ExitCode(err)
	if !a.started && code == ExitError {
		code = ExitUsage // rejected before it ran: an unknown command or flag, or a wrong number of arguments
	}
	if _, ok := errors.AsType[*SilentError](err); !ok {
		_, _ = fmt.Fprintln(a.Err, "error: "+Explain(err)) // stderr may be closed
	}
	if code == ExitUsage {
		_, _ = fmt.Fprintf(a.Err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}
