package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// TestTheCauseForWhichACallerEndsACallIsNoInternalError: within a process, handlers see it in their context.
func TestTheCauseForWhichACallerEndsACallIsNoInternalError(t *testing.T) {
	errStop := errors.New("the worker stops")
	for _, row := range []struct {
		name string
		err  func(context.Context) error
		logs bool
	}{
		{"the cause", context.Cause, false},
		{"the cause in other words", func(ctx context.Context) error { return fmt.Errorf("ask: %w", context.Cause(ctx)) }, false},
		{"another error", func(context.Context) error { return errors.New("disk full") }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var log bytes.Buffer
			conn := rpctest.ServeAs(t, "policy", func(s grpc.ServiceRegistrar) {
				policyv1.RegisterPolicyServiceServer(s, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
					cancel(errStop)
					<-ctx.Done()
					return nil, row.err(ctx)
				}})
			}, rpctest.WithLog(slog.New(slog.NewTextHandler(&log, nil))))
			_, err := policyv1.NewPolicyServiceClient(conn).GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
			if f := fault.From(err); f.Code != codes.Canceled {
				t.Errorf("the call ends with %v", err)
			}
			if logged := log.Len() > 0; logged != row.logs {
				t.Errorf("logged %q", log.String())
			}
		})
	}
}
