package modelcall_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestCancelEndsAPauseAtOnce(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, message := range []string{"first:600000 say:x", "slow:60000 say:a b"} {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.Generate(ctx, &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(message)}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(message, "slow") {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if _, err := stream.Recv(); fault.From(err).Code != codes.Canceled {
			t.Errorf("%s: %v", message, err)
		}
	}
}

func TestSilenceEndsACall(t *testing.T) {
	for _, row := range []struct {
		message, says string
		first, idle   time.Duration
	}{
		{"first:600000 say:x", "did not begin to answer", 50 * time.Millisecond, time.Minute},
		{"slow:60000 say:one two", "in the middle", time.Minute, 50 * time.Millisecond},
	} {
		cfg := inferencetest.Config()
		cfg.FirstTokenTimeout, cfg.IdleTimeout = row.first, row.idle
		req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(row.message)}}
		_, err := inferencetest.Ask(t.Context(), t, inferencetest.Serve(t, cfg, nil), req)
		f := fault.From(err)
		if f == nil || f.Code != codes.DeadlineExceeded || !fault.Retryable(err) || !strings.Contains(f.Message, row.says) {
			t.Errorf("%s: %v", row.message, err)
		}
	}
}
