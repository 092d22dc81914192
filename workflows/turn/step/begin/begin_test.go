package begin_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
)

func TestBeginFailures(t *testing.T) {
	for _, row := range []struct {
		name, rpc string
		err       error
		want      string
		retry     bool
	}{
		{
			name: "an unknown model is final", rpc: "ResolveModel", want: "model_unknown",
			err: fault.New(codes.NotFound, faultv1.Reason_REASON_MODEL_UNKNOWN, "no provider openai"),
		},
		{
			name: "a registry that is away is tried again", rpc: "ResolveTools", err: fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away"),
			retry: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}})
			w.Fail(row.rpc, row.err)
			out, err := w.Runner.Do(t.Context(), in, &turnv1.StepRef{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN})
			if row.retry {
				if steptest.AsRetry(err) == nil || !w.Journal.Released(in.TurnID, "begin") {
					t.Fatalf("got %v, %v; want a retry and the lease given back", out, err)
				}
				w.Walk()
				return
			}
			if err != nil || out.GetError().GetCode() != row.want {
				t.Errorf("got %v, %v", out, err)
			}
		})
	}
}

func TestAgentWhoseToolsAreAllGone(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}})
	if got := w.Walk()[0].GetSurface().GetStrategy(); got != turnv1.Strategy_STRATEGY_DIRECT {
		t.Errorf("strategy = %v", got)
	}
}

func TestDeadlineIsPinned(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Limits: &sessionsv1.Limits{TurnSeconds: 60}})
	before := time.Now()
	got := time.UnixMicro(w.Walk()[0].GetSurface().GetDeadlineMicros())
	if got.Before(before.Add(59*time.Second)) || got.After(time.Now().Add(61*time.Second)) {
		t.Errorf("deadline = %v, begun at %v", got, before)
	}
}
