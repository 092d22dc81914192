package e2e

import (
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// stayer is an executor over gRPC that does a whole turn on one stream.
type stayer struct {
	executorv1.UnimplementedExecutorServiceServer
	modes chan executorv1.Mode
}

func (s stayer) Run(stream grpc.BidiStreamingServer[executorv1.RunRequest, executorv1.RunResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	s.modes <- first.GetInvocation().GetMode()
	for _, e := range []*executorv1.RunResponse{
		{Event: &executorv1.RunResponse_Session{Session: &executorv1.Session{ExecutorSessionId: "grpc-1"}}},
		{Event: &executorv1.RunResponse_ToolCall{ToolCall: &turnv1.ToolCall{
			Tool:          "calculator__evaluate",
			ArgumentsJson: `{"expression":"6*7"}`,
		}}},
		{Event: &executorv1.RunResponse_End{End: &executorv1.End{Stay: true}}},
	} {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		if r := req.GetToolResult(); r != nil {
			text := &executorv1.RunResponse_TextDelta{TextDelta: r.GetContent()[0].GetText()}
			if err := stream.Send(&executorv1.RunResponse{Event: text}); err != nil {
				return err
			}
		}
		if req.GetContinue() != nil {
			return stream.Send(&executorv1.RunResponse{Event: &executorv1.RunResponse_End{End: &executorv1.End{Model: "x/y"}}})
		}
	}
}

func TestAnExecutorOverGRPC(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	remote, server := stayer{modes: make(chan executorv1.Mode, 8)}, grpc.NewServer()
	executorv1.RegisterExecutorServiceServer(server, remote)
	go func() { _ = server.Serve(l) }() // until it is stopped
	t.Cleanup(server.Stop)
	c := client(t)
	abacus(c, "abacus-grpc", harness.JSON{"kind": "grpc", "url": "grpc://" + l.Addr().String()})
	session := c.Session("abacus-grpc")
	for _, want := range []executorv1.Mode{executorv1.Mode_MODE_START, executorv1.Mode_MODE_RESUME} {
		turn := c.Turn(session, "What is 6*7?")
		events := c.Watch("/v1/turns/" + turn + "/events").End()
		harness.CheckStream(t, events)
		if got := c.Wait(turn); got.Str("status") != "completed" || got.Str("output") != "6*7 = 42" {
			t.Fatalf("turn = %v", got)
		}
		if mode := <-remote.modes; mode != want || len(remote.modes) > 0 {
			t.Errorf("the stream was begun with %v, want %v; %d more streams", mode, want, len(remote.modes))
		}
		if !slices.Contains(typesOf(events), "tool_call.completed") {
			t.Errorf("events: %v", typesOf(events))
		}
	}
}
