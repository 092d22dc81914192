package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestCompactedShape runs a turn on a real server that begins by compacting what was said before, and keeps its history with
// -update. Its workflow waits for the summary in an activity.
func TestCompactedShape(t *testing.T) {
	l := newLive(t, turntest.New(t))
	const turnID = "trn_compacted"
	var past []*turnv1.Message
	for i := range 20 {
		past = append(past, &turnv1.Message{
			Id: fmt.Sprintf("msg_old%d", i), TurnId: fmt.Sprintf("trn_old%d", i/2), Role: turnv1.Role(1 + i%2),
			Content: executiontest.Text(strings.Repeat("word ", 100)),
		})
	}
	l.Journal.Recall(turnID, past...)
	walked := make(chan struct{})
	l.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if strings.Contains(req.GetInstructions(), contract.MarkCompact) {
			<-walked
		}
		return turntest.Say("ok")(req, stream)
	})
	run := l.begin(turnID, &sessionsv1.Agent{MaxContextTokens: 2000})
	l.afterJoin(walked)(run, nil)
	want := contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2}
	if got := l.end(run); got != want {
		t.Errorf("result = %+v, want %+v", got, want)
	}
	h := l.history(run)
	compacts := 0
	for _, e := range h.GetEvents() {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Compact" {
			compacts++
		}
	}
	if compacts != 1 {
		t.Errorf("%d activities for the summary", compacts)
	}
	if *update {
		historytest.Write(t, histories, "compacted", h)
	}
}
