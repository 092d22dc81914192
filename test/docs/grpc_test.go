package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// ask is shown in docs/how-to/grpc.md, and must stay the same there.
func ask(ctx context.Context, address, input string, out io.Writer) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()

	session, err := sessionsv1.NewSessionServiceClient(conn).CreateSession(ctx, &sessionsv1.CreateSessionRequest{AgentId: "assistant"})
	if err != nil {
		return err
	}
	turns := sessionsv1.NewTurnServiceClient(conn)
	turn, err := turns.CreateTurn(ctx, &sessionsv1.CreateTurnRequest{SessionId: session.GetId(), Input: input})
	if err != nil {
		return err
	}
	stream, err := turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	if err != nil {
		return err
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil // the turn is over
		}
		if err != nil {
			return err // Watch again with After set to the last cursor
		}
		if end := event.GetEvent().GetTurnEnded(); end != nil {
			fmt.Fprintln(out, end.GetOutput())
		}
	}
}

func callOverGRPC(t *testing.T, address string) {
	var out bytes.Buffer
	if err := ask(t.Context(), address, "What is 6 * 7?", &out); err != nil {
		t.Fatal(err)
	}
	if want := "calculator__evaluate answered: 6 * 7 = 42.\n"; out.String() != want {
		t.Errorf("ask printed %q, want %q", out.String(), want)
	}
}

// A block with source=FILE repeats a part of a file of this package.
func TestGoBlocksAreTheTestedCode(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.lang != "go" {
				continue
			}
			raw, err := os.ReadFile(b.attr("source"))
			if err != nil {
				t.Errorf("%s:%d: a Go block needs source=FILE of test/docs: %v", p.path, b.line, err)
				continue
			}
			if !strings.Contains(string(raw), "\n"+b.text) {
				t.Errorf("%s:%d: is not in test/docs/%s", p.path, b.line, b.attr("source"))
			}
		}
	}
}
