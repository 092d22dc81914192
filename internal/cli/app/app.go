// Package app is what our commands share: where they read and write, how signals end them, and which exit code an error becomes.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of all commands.
const (
	ExitOK         = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitNotFound   = 3
	ExitDenied     = 4
	ExitTurnFailed = 5
)

// App is the world of one command.
type App struct {
	// Version is what the build says about itself; empty asks the binary.
	Version string
	// In, Out and Err are the standard streams. Results go to Out, all else to Err.
	In       io.Reader
	Out, Err io.Writer
	// Environ is the environment in the form of os.Environ.
	Environ []string
	// Terminal says that Out is a terminal: colours and redrawing are welcome.
	Terminal bool
	// Interactive says that In is a terminal: there is a person to ask.
	Interactive bool
	// Self is how the user calls us, for hints: "windlass" or "bin/windlass".
	Self string

	signals signals
	started bool
}

// OS is the world of this process.
func OS(version string) *App {
	return &App{
		Version: version, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Self: self(os.Args[0]), Terminal: isTerminal(os.Stdout), Interactive: isTerminal(os.Stdin),
	}
}

// self returns the command as it was typed, where that is us: `make up` starts bin/windlass, which need not be on PATH.
func self(arg0 string) string {
	if filepath.Base(arg0) == "windlass" && !filepath.IsAbs(arg0) {
		return arg0
	}
	return "windlass"
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Getenv reads the environment; "" when the variable is not set.
func (a *App) Getenv(name string) string {
	for _, kv := range a.Environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// Main runs a command on the process's arguments and gives the exit code. The command's context ends at the first SIGINT or
// SIGTERM; a second one ends the process at once.
func (a *App) Main(ctx context.Context, root *cobra.Command, args []string) int {
	ctx, stop := a.signals.watch(ctx)
	defer stop()
	return a.Execute(ctx, root, args)
}

// Execute runs a command without heed of signals.
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
		code = ExitUsage // refused before it ran: an unknown command, flag or a wrong number of arguments
	}
	if _, ok := errors.AsType[*SilentError](err); !ok {
		_, _ = fmt.Fprintln(a.Err, "error: "+Explain(err)) // nobody is left to tell
	}
	if code == ExitUsage {
		_, _ = fmt.Fprintf(a.Err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}
