package runner

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/refclock"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// Now returns the time by which deadlines are set and judged: that of the database of the sessions service, which its answers carry. So it
// does no harm when a worker's own clock is wrong.
func (r *Runner) Now() time.Time { return r.clock.Now() }

// timed takes the database's time from the answers of the sessions service.
type timed struct {
	executionv1.ExecutionServiceClient
	clock *refclock.Clock
}

func observed[Q any, R interface{ GetCurrentTime() *timestamppb.Timestamp }](
	ctx context.Context, c *refclock.Clock, call func(context.Context, Q, ...grpc.CallOption) (R, error), req Q, opts []grpc.CallOption,
) (R, error) {
	before := c.Local()
	resp, err := call(ctx, req, opts...)
	if at := resp.GetCurrentTime(); err == nil && at != nil {
		c.Observe(at.AsTime(), before, c.Local())
	}
	return resp, err
}

// LoadTurn implements ExecutionServiceClient.
func (t timed) LoadTurn(ctx context.Context, req *executionv1.LoadTurnRequest, opts ...grpc.CallOption) (*step.Loaded, error) {
	return observed(ctx, t.clock, t.ExecutionServiceClient.LoadTurn, req, opts)
}

// GetOutcomes implements ExecutionServiceClient.
func (t timed) GetOutcomes(
	ctx context.Context, req *executionv1.GetOutcomesRequest, opts ...grpc.CallOption,
) (*executionv1.GetOutcomesResponse, error) {
	return observed(ctx, t.clock, t.ExecutionServiceClient.GetOutcomes, req, opts)
}

// ClaimStep implements ExecutionServiceClient.
func (t timed) ClaimStep(
	ctx context.Context, req *executionv1.ClaimStepRequest, opts ...grpc.CallOption,
) (*executionv1.ClaimStepResponse, error) {
	return observed(ctx, t.clock, t.ExecutionServiceClient.ClaimStep, req, opts)
}

// RenewStep implements ExecutionServiceClient.
func (t timed) RenewStep(
	ctx context.Context, req *executionv1.RenewStepRequest, opts ...grpc.CallOption,
) (*executionv1.RenewStepResponse, error) {
	return observed(ctx, t.clock, t.ExecutionServiceClient.RenewStep, req, opts)
}
