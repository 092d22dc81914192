package docs

import (
	"encoding/json"
	"net"
	"testing"

	"google.golang.org/grpc"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// computer is an executor over gRPC: it has Windlass compute what the user says, and answers with the result. It is shown in
// docs/how-to/executors.md, and must stay the same there.
type computer struct {
	executorv1.UnimplementedExecutorServiceServer
}

func (computer) Run(stream grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	invocation := first.GetInvocation()
	var events []*executorv1.RunResponse
	if results := invocation.GetToolResults(); len(results) > 0 {
		answer := "It is " + results[0].GetContent()[0].GetText() + "."
		events = append(events, &executorv1.RunResponse{Event: &executorv1.RunResponse_Answer{Answer: answer}})
	} else {
		arguments, err := json.Marshal(map[string]string{"expression": invocation.GetInput()[0].GetContent()[0].GetText()})
		if err != nil {
			return err
		}
		session := &executorv1.Session{ExecutorSessionId: "go-" + invocation.GetSessionId()}
		call := &turnv1.ToolCall{Tool: "calculator__evaluate", ArgumentsJson: string(arguments)}
		events = append(events,
			&executorv1.RunResponse{Event: &executorv1.RunResponse_Session{Session: session}},
			&executorv1.RunResponse{Event: &executorv1.RunResponse_ToolCall{ToolCall: call}})
	}
	for _, e := range append(events, &executorv1.RunResponse{Event: &executorv1.RunResponse_End{End: &executorv1.End{}}}) {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func serve(listener net.Listener) error {
	server := grpc.NewServer()
	executorv1.RegisterExecutorServiceServer(server, computer{})
	return server.Serve(listener)
}

// TestTheExecutorOverGRPC runs the executor of the page.
func TestTheExecutorOverGRPC(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(l) // until its listener is closed
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	c := harness.Up(t, t.TempDir(), nil).Client
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "computer", "tools": []string{"calculator__*"}, "executor": harness.JSON{"kind": "grpc", "url": "grpc://" + l.Addr().String()},
	})
	if end := c.Wait(c.Turn(c.Session("computer"), "6 * 7")); end.Str("output") != "It is 6 * 7 = 42." {
		t.Errorf("turn = %v", end)
	}
}
