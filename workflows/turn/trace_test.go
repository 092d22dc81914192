package turn_test

import (
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/windlass-dev/windlass/libs/testtemporal"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestOneTraceFromTheStartToTheSteps: who starts a turn, its workflow and its activities are in one trace.
func TestOneTraceFromTheStartToTheSteps(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
	l := &live{Mesh: turntest.New(t), t: t}
	c, err := temporal.Dial(t.Context(), temporal.Config{
		Address: testtemporal.Server(t), Identity: "test", Log: slog.New(slog.DiscardHandler), Tracer: tracer,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	l.client = c
	w := l.start("worker-1", 0)
	l.end(l.begin("trn_traced", &sessionsv1.Agent{}))
	l.stop(w) // all spans have ended then
	var names []string
	for _, s := range spans.Ended() {
		if s.SpanContext().TraceID() == spans.Started()[0].SpanContext().TraceID() {
			names = append(names, s.Name())
		}
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"StartWorkflow:Turn", "RunWorkflow:Turn", "RunActivity:JoinRun"} {
		if !strings.Contains(all, want) {
			t.Errorf("no span %s in the trace: %s", want, all)
		}
	}
}
