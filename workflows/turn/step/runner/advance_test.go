package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// An advance and a walk leave the same turn, and show the model the same.
func TestAdvanceDoesWhatAWalkDoes(t *testing.T) {
	var events, asked []string
	for _, drive := range []func(w *steptest.World){
		func(w *steptest.World) { w.Walk() },
		func(w *steptest.World) { w.Advance() },
	} {
		w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}}, turntest.Tool("x__echo"))
		w.Model(turntest.CallTools("x__echo", 1, 1))
		drive(w)
		w.Once("begin finish infer-1 infer-2 infer-3 tool-1.0 tool-2.0")
		events = append(events, strings.Join(w.Kinds(), " "))
		said := ""
		for _, req := range w.Asked() {
			for _, m := range req.GetMessages() {
				m = proto.CloneOf(m)
				m.Id = ""
				said += fmt.Sprintln(m.GetRole(), steptest.Text(m), m.GetToolCalls(), m.GetToolResult().GetCallId())
			}
		}
		asked = append(asked, said)
	}
	if events[0] != events[1] {
		t.Errorf("a walk leaves\n%s\nan advance\n%s", events[0], events[1])
	}
	if strings.Join(strings.Fields(asked[0]), " ") != strings.Join(strings.Fields(asked[1]), " ") {
		t.Errorf("in a walk the model is shown\n%s\nin an advance\n%s", asked[0], asked[1])
	}
}

func TestAdvanceRunsToolsTogether(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}, Limits: &sessionsv1.Limits{MaxParallelTools: 3}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 7))
	if out := w.Advance(); len(out) != 11 {
		t.Errorf("%d outcomes", len(out))
	}
	if len(w.Called()) != 7 {
		t.Errorf("%d calls", len(w.Called()))
	}
}

func TestAdvanceGoesOnWhereATurnStands(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}}, turntest.Tool("x__echo"))
	w.Model(turntest.CallTools("x__echo", 2))
	w.Do(w.UpTo(turnv1.StepKind_STEP_KIND_TOOL)) // one of two
	w.Advance()
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.1")
	w.Advance() // over: nothing is done again
	w.Once("begin finish infer-1 infer-2 tool-1.0 tool-1.1")
}

func TestAdvanceLeavesATurnToItsHolder(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Journal.Seize(in.TurnID, "begin", "somebody", time.Minute)
	if _, err := w.Runner.Advance(t.Context(), in, nil); !errors.Is(err, step.ErrElsewhere) {
		t.Errorf("advance of a turn that is another's: %v", err)
	}
	if len(w.Asked()) > 0 {
		t.Error("the model was asked")
	}
}

func TestAdvanceTriesAgainAfterARest(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	w.Fail("Generate", away, away)
	w.Advance()
	if n := len(w.Asked()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
	w.Once("begin finish infer-1")
}

func TestAdvanceLeavesALongRestToOthers(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Fail("Generate", fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "busy").RetryAfter(time.Minute))
	_, err := w.Runner.Advance(t.Context(), in, nil)
	if _, again := errors.AsType[*step.RetryError](err); !again {
		t.Fatalf("advance: %v", err)
	}
	if _, err := w.Another("worker-2").Advance(t.Context(), in, nil); !errors.Is(err, step.ErrElsewhere) {
		t.Errorf("a step at rest was tried: %v", err)
	}
	if n := len(w.Asked()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestACancelReachesAnAdvance(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: "so far"}}); err != nil {
			return err
		}
		w.Journal.Cancel(in.TurnID)
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	w.Advance()
	if e := w.Journal.Ending(in.TurnID); e.GetStatus() != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("ending %v", e)
	}
}

func TestADrainedAdvanceGivesItsLeaseBack(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stops := errors.New("worker stops")
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		cancel(stops)
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	if _, err := w.Runner.Advance(ctx, in, nil); !errors.Is(err, stops) {
		t.Errorf("advance: %v", err)
	}
	if !w.Journal.Released(in.TurnID, "infer-1") {
		t.Error("the lease was kept")
	}
	w.Model(turntest.Say("ok"))
	if _, err := w.Another("worker-2").Advance(t.Context(), in, nil); err != nil {
		t.Error(err)
	}
	w.Once("begin finish infer-1")
}
