package turn

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// leastWait keeps a turn from asking again and again for a wait's end that sessions, by its own clock, does not see yet.
const leastWait = time.Second

// await waits for news, and ends the waits whose time is up meanwhile.
func (w *walk) await(decision engine.Decision, news func() bool) error {
	if stay, parks := w.stay(decision); parks {
		heard, err := workflow.AwaitWithOptions(w.ctx, workflow.AwaitOptions{
			Timeout: stay, TimerOptions: workflow.TimerOptions{Summary: "until it parks"},
		}, news)
		w.stayed = err == nil && !heard
		return err
	}
	if !decision.Waiting || decision.Wake.IsZero() {
		return workflow.Await(w.ctx, news)
	}
	if w.late(decision) {
		w.expire()
		return nil
	}
	in := max(decision.Wake.Sub(w.now()), leastWait)
	heard, err := workflow.AwaitWithOptions(w.ctx, workflow.AwaitOptions{
		Timeout: in, TimerOptions: workflow.TimerOptions{Summary: "until " + decision.Wake.UTC().Format(time.RFC3339)},
	}, news)
	if err == nil && !heard {
		w.expire()
	}
	return err
}

// look learns what is new in the journal.
func (w *walk) look() {
	var act *Activities
	w.looked = w.woken
	w.ask("look into the journal", act.Look)
}

// expire ends the waits whose time is up, and learns what is new.
func (w *walk) expire() {
	var act *Activities
	w.looked = w.woken
	w.ask("expire waits", act.Expire)
}

// ask runs one of both. A journal that is away is asked for as long as it takes: nothing else could be done meanwhile. One that says no for
// good fails the turn.
func (w *walk) ask(summary string, activity any) {
	ctx := workflow.WithLocalActivityOptions(w.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: shortStep, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	w.busy++
	known := make([]string, len(w.outcomes))
	for i, o := range w.outcomes {
		known[i] = o.GetKey()
	}
	var out *turnv1.Progress
	if err := workflow.ExecuteLocalActivity(ctx, activity, w.in, known).Get(w.ctx, &out); err != nil && w.failure == nil {
		w.failure = failureOf(err)
	}
	w.learnTime(out)
	for _, o := range out.GetOutcomes() {
		w.learn(o)
	}
	w.describe()
}

// waits are those that nobody has answered yet.
func (w *walk) waits() []*turnv1.WaitRef {
	var out []*turnv1.WaitRef
	for _, o := range w.outcomes {
		if o.GetWait() != nil && !has(w.outcomes, stepkey.Wait(o.GetKey())) {
			out = append(out, o.GetWait())
		}
	}
	return out
}

// waitTitle names a wait by what it was for and the tool that was called.
func (w *walk) waitTitle(end *turnv1.StepOutcome) string {
	for _, o := range w.outcomes {
		if o.GetWait() != nil && stepkey.Wait(o.GetKey()) == end.GetKey() {
			return waitNames[o.GetWait().GetKind()] + ", tool " + engine.ToolOf(w.outcomes, o.GetKey())
		}
	}
	return end.GetKey()
}

// waitsFor tells for whom or what a call waits.
func waitsFor(wait *turnv1.WaitRef, until bool) string {
	text := "waits for " + waitNames[wait.GetKind()] + " " + wait.GetId()
	if at := wait.GetExpireMicros(); until && at > 0 {
		text += " until " + time.UnixMicro(at).UTC().Format(time.RFC3339)
	}
	return text
}

var waitNames = map[turnv1.WaitKind]string{
	turnv1.WaitKind_WAIT_KIND_APPROVAL:    "approval",
	turnv1.WaitKind_WAIT_KIND_INPUT:       "input",
	turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL: "the client's result",
	turnv1.WaitKind_WAIT_KIND_RESOLUTION:  "resolution",
	turnv1.WaitKind_WAIT_KIND_CHILD:       "a child turn",
}

func verdictName(v turnv1.Verdict) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(v.String(), "VERDICT_")), "_", " ")
}
