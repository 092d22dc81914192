package runner

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// transient returns what publishes a step's transient events. No step depends on them: a bus that is away only costs smoothness.
func (r *Runner) transient(ctx context.Context, w *step.Work) func(*turnv1.Event) {
	base := &turnv1.Event{
		Seq: w.Lease.GetBaseSeq(), SessionId: w.Turn.SessionID, TurnId: w.Turn.TurnID, Step: w.Ref.GetKey(),
		Attempt: w.Lease.GetAttempt(), AgentPath: w.Loaded.GetAgentPath(), Actor: role,
	}
	if len(base.GetAgentPath()) == 0 {
		base.AgentPath = []string{w.Turn.AgentID}
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		base.TraceId = span.TraceID().String()
	}
	subject := contract.DeltaSubject(w.Turn.Tenant, w.Turn.SessionID)
	return func(e *turnv1.Event) {
		proto.Merge(e, base)
		e.Time = timestamppb.New(r.Now())
		data, err := proto.Marshal(e)
		if err == nil {
			err = r.deps.Bus.Publish(subject, data)
		}
		if err != nil {
			r.deps.Log.DebugContext(ctx, "transient event not published", "type", e.GetType(), "error", err)
		}
	}
}
