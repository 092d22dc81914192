package follow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var errFull = errors.New("the disk is full")

// root is a command line that prints the cursors of a turn's events, and fails at one type of them.
var root = clitest.Command(func(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{Use: "follow TURN", Args: cobra.ExactArgs(1), RunE: r.Run(func(c *command.Call) error {
		o := follow.Options{Turn: c.Args[0], After: c.Flag("after"), Children: c.Bool("children")}
		return follow.Turn(c, o, func(ev client.Event) error {
			if ev.GetType() == c.Flag("fail-at") {
				return errFull
			}
			return c.Printf("", nil, "%d", ev.GetSeq())
		})
	})}
	cmd.Flags().String("after", "", "")
	cmd.Flags().String("fail-at", "", "")
	cmd.Flags().Bool("children", false, "")
	return cmd
})

func TestEventsAreFollowedToTheEnd(t *testing.T) {
	stream := clitest.Began + clitest.Ran
	whole := clitest.Answered + clitest.Completed
	for _, tc := range []struct {
		name, args, out, err string
		code                 int
		streams              []string
		requests             string
	}{
		{
			name: "in one stream", args: "follow trn_1", streams: []string{clitest.Began + clitest.Completed}, out: "1 2 3 4 5 6 13",
			requests: "GET /v1/turns/trn_1/events",
		},
		{
			name: "with those of its children", args: "follow trn_1 --children", streams: []string{clitest.Completed}, out: "13",
			requests: "GET /v1/turns/trn_1/events?include=children",
		},
		{
			name: "in one that breaks", args: "follow trn_1", streams: []string{stream, whole}, out: "1 2 3 4 5 6 7 8 9 9 12 13",
			requests: "GET /v1/turns/trn_1/events GET /v1/turns/trn_1/events", err: "the stream broke (",
		},
		{
			name: "until the handler fails", args: "follow trn_1 --fail-at turn.started", streams: []string{clitest.Began}, out: "1",
			requests: "GET /v1/turns/trn_1/events", code: 1, err: "error: the disk is full\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := clitest.New(t, root, nil).Stream(tc.streams...)
			r := f.Run("", strings.Fields(tc.args)...)
			testwant.Equal(t, "the exit code", r.Code, tc.code)
			testwant.Equal(t, "the events", strings.Join(strings.Fields(r.Out), " "), tc.out)
			testwant.Equal(t, "the requests", strings.Join(f.Requests(), " "), tc.requests)
			if !strings.Contains(r.Err, tc.err) {
				t.Errorf("stderr %q lacks %q", r.Err, tc.err)
			}
		})
	}
}

func TestWhatATurnAsksForIsRemembered(t *testing.T) {
	dir := t.TempDir()
	asks := clitest.Frame("7", "approval.requested", `{"approval_id":"apr_7","call_id":"c1","tool":"bank__pay","arguments":{}}`)
	f := clitest.New(t, root, nil).Stream(clitest.Began + asks + clitest.Completed)
	home := func(a *app.App) { a.Environ = append(a.Environ, "XDG_STATE_HOME="+dir) }
	testwant.Equal(t, "the exit code", f.With(home, "", "follow", "trn_1").Code, 0)
	kept := state.Of(&app.App{Environ: []string{"XDG_STATE_HOME=" + dir}}, f.URL)
	testwant.Equal(t, "the last approval", kept.Last("approval"), "apr_7")
	testwant.Equal(t, "the last turn", kept.Last("turn"), "trn_1")
}

func TestHowATurnEnded(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  *turnv1.TurnEnded
		err  string
	}{
		{name: "before"},
		{name: "with an answer", end: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED}},
		{name: "cancelled", end: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED}, err: "turn trn_1 is cancelled"},
		{
			name: "failed", err: "turn trn_1 failed: no model",
			end: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, Error: &turnv1.TurnError{Message: "no model"}},
		},
		{
			name: "by a limit", err: "turn trn_1 reached a limit: 25 steps\n  Raise it.", end: &turnv1.TurnEnded{
				Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, LimitReached: &turnv1.LimitReached{Message: "25 steps", Hint: "Raise it."},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := follow.Result("trn_1", tc.end)
			if tc.err == "" {
				testwant.Equal(t, "the error", err, nil)
				return
			}
			if err == nil || err.Error() != tc.err || app.ExitCode(err) != app.ExitTurnFailed {
				t.Errorf("the error is %v, exit code %d", err, app.ExitCode(err))
			}
		})
	}
}
