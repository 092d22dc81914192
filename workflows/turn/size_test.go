package turn_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// maxHistory is what a turn's history may grow to, in bytes.
const maxHistory = 2 << 20

// TestHistoryHoldsReferencesOnly: 100 tool calls whose results are large, over a conversation of some 200,000 tokens, leave a small
// history without a word of it.
func TestHistoryHoldsReferencesOnly(t *testing.T) {
	const secret = "do-not-keep-me"
	large := strings.Repeat(secret+" ", 64<<10/len(secret))
	l := newLive(t, turntest.New(t, turntest.Tool("x__echo")))
	perRound := slices.Repeat([]int{10}, 10)
	l.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if err := stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: secret}}); err != nil {
			return err
		}
		return turntest.CallTools("x__echo", perRound...)(req, stream)
	})
	l.Tool(func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		return turntest.Complete(stream, &registryv1.Completed{Result: &turnv1.ToolResult{
			Content: executiontest.Text(large[:8<<10]),
		}})
	})
	run := l.begin("trn_long", &sessionsv1.Agent{Tools: []string{"*"}, Limits: &sessionsv1.Limits{MaxSteps: 30}})
	want := contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 11, ToolCalls: 100}
	if got := l.end(run); got != want {
		t.Errorf("result = %+v, want %+v", got, want)
	}
	bytes, err := proto.Marshal(l.history(run))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("history of 100 tool calls: %d events, %d bytes", len(l.history(run).GetEvents()), len(bytes))
	if len(bytes) > maxHistory {
		t.Errorf("history has %d bytes, more than %d", len(bytes), maxHistory)
	}
	if strings.Contains(string(bytes), secret) {
		t.Error("history holds content of the conversation")
	}
}
