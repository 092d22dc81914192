package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/libs/fault"
)

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		code int
		err2 string // on standard error
	}{
		{"fine", nil, 0, ""},
		{"any error", errors.New("broken"), 1, "error: broken\n"},
		{"wrong usage", Usage("no %s", "way"), 2, "error: no way\nSee 'x --help'.\n"},
		{
			"not found", fmt.Errorf("agent: %w", fault.NotFound("it is not there").Hint("List them.")), 3,
			"error: agent: it is not there\n  List them.\n",
		},
		{"denied", fault.Denied("a.b.c", ""), 4, "error: "},
		{"a turn that failed", &TurnError{Turn: "trn_1", Status: "failed", Problem: "no key"}, 5, "error: turn trn_1 failed: no key\n"},
		{"told already", &SilentError{Code: 1}, 1, ""},
		{"interrupted", fmt.Errorf("watch: %w", context.Canceled), 1, "error: interrupted\n"},
		{"wrong fields", fault.InvalidFields([]fault.Field{{Path: "input", Message: "is required"}}), 1, "error: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			a := &App{Out: &out, Err: &errs}
			root := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return tc.err }}
			if code := a.Execute(t.Context(), root, []string{}); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if got := errs.String(); !strings.HasPrefix(got, tc.err2) || tc.err2 == "" && got != "" {
				t.Errorf("stderr %q, want %q", got, tc.err2)
			}
		})
	}
}

func TestRefusedBeforeItRanIsWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"--nope"}, {"extra"}} {
		var errs bytes.Buffer
		a := &App{Err: &errs, Out: &errs}
		root := &cobra.Command{Use: "x", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { t.Error("it ran"); return nil }}
		if code := a.Execute(t.Context(), root, args); code != ExitUsage || !strings.Contains(errs.String(), "See 'x --help'") {
			t.Errorf("%v = %d %q", args, code, errs.String())
		}
	}
}

// TestASecondSignalEndsTheProcessAtOnce, unless it is the echo of the first.
func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	for _, row := range []struct {
		after time.Duration
		ends  bool
	}{{after: 10 * time.Millisecond}, {after: 150 * time.Millisecond, ends: true}, {after: time.Minute, ends: true}} {
		t.Run(row.after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := false
				s := signals{exit: func(int) { ended = true }}
				ctx, cancel := context.WithCancel(t.Context())
				s.deliver(ctx, os.Interrupt, cancel)
				time.Sleep(row.after)
				s.deliver(ctx, os.Interrupt, cancel)
				if ended != row.ends {
					t.Errorf("the process ends: %t", ended)
				}
			})
		})
	}
}

func TestSignals(t *testing.T) {
	a := &App{}
	ctx, cancel := context.WithCancel(t.Context())
	goOn := true
	release := a.OnInterrupt(func() bool { return goOn })
	a.signals.deliver(ctx, os.Interrupt, cancel)
	if ctx.Err() != nil {
		t.Error("a handled Ctrl-C ends the command")
	}
	goOn = false
	a.signals.deliver(ctx, os.Interrupt, cancel)
	if ctx.Err() == nil {
		t.Error("a Ctrl-C that is passed on does not end the command")
	}
	a.signals.deliver(ctx, os.Interrupt, cancel) // the echo of the first signal must not end the process
	release()
	if a.Interrupt() {
		t.Error("a released handler is still asked")
	}
}

func TestMainEndsOnASignal(t *testing.T) {
	a := &App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	root := &cobra.Command{Use: "x", RunE: func(cmd *cobra.Command, _ []string) error {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Signal(os.Interrupt); err != nil {
			return err
		}
		<-cmd.Context().Done()
		return nil
	}}
	if code := a.Main(context.Background(), root, []string{}); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestGetenv(t *testing.T) {
	a := &App{Environ: []string{"AB=1", "A=2=3"}}
	if a.Getenv("A") != "2=3" || a.Getenv("B") != "" {
		t.Errorf("A is %q, B is %q", a.Getenv("A"), a.Getenv("B"))
	}
}
