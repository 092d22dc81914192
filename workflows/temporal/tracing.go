package temporal

import (
	"context"
	"crypto/sha256"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/telemetry"
)

// tracing makes the spans of workflows and activities. A workflow may run on several workers, one after the other, and each replays it
// from its beginning; its span is the same on all of them, as its id follows from the run, and is sent once, where the workflow ends.
func tracing(t trace.Tracer) ([]interceptor.ClientInterceptor, error) {
	inner, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{Tracer: t, SpanStarter: startSpan})
	if err != nil {
		return nil, err
	}
	// The second runs inside the first.
	return []interceptor.ClientInterceptor{interceptor.NewTracingInterceptor(workflowTracer{inner}), &ending{}}, nil
}

// keyMark parts a span's name from the key of the run in it: the SDK tells the starter of spans nothing but the name.
const keyMark = "\x00"

// workflowTracer passes on the key of a workflow's span.
type workflowTracer struct{ interceptor.Tracer }

// StartSpan implements interceptor.Tracer.
func (t workflowTracer) StartSpan(o *interceptor.TracerStartSpanOptions) (interceptor.TracerSpan, error) {
	if o.Operation == "RunWorkflow" && o.IdempotencyKey != "" {
		keyed := *o
		keyed.Name += keyMark + o.IdempotencyKey
		o = &keyed
	}
	return t.Tracer.StartSpan(o)
}

func startSpan(ctx context.Context, t trace.Tracer, name string, opts ...trace.SpanStartOption) trace.Span {
	name, key, keyed := strings.Cut(name, keyMark)
	if !keyed {
		_, span := t.Start(ctx, name, opts...) //nolint:spancheck // the caller ends it
		return span                            //nolint:spancheck // see above
	}
	sum := sha256.Sum256([]byte(key))
	_, span := t.Start(telemetry.WithSpanID(ctx, trace.SpanID(sum[:8])), name, opts...) //nolint:spancheck // the caller ends it
	return &workflowSpan{Span: span}                                                    //nolint:spancheck // see above
}

// workflowSpan is sent only when its workflow is over: on a worker that lets go of the workflow it never ends.
type workflowSpan struct {
	trace.Span
	over bool
}

// End implements trace.Span.
func (s *workflowSpan) End(opts ...trace.SpanEndOption) {
	if s.over {
		s.Span.End(opts...)
	}
}

// ending ends the span of a workflow.
type ending struct{ interceptor.InterceptorBase }

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (*ending) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &endingWorkflow{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type endingWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor. It does not return when the worker lets go.
func (w *endingWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	out, err := w.Next.ExecuteWorkflow(ctx, in)
	if span, ok := opentelemetry.SpanFromWorkflowContext(ctx); ok {
		if s, ok := span.(*workflowSpan); ok {
			s.over = true
		}
	}
	return out, err
}
