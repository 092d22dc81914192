package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

func TestSetup(t *testing.T) {
	var out lines
	tel, err := telemetry.Setup(t.Context(), "test", "v0", config.Default[telemetry.Config](), &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	counter, err := otel.Meter("test").Int64Counter("windlass_things")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 2)
	rec := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(rec.Body.String(), "windlass_things_total{} 2") && !strings.Contains(rec.Body.String(), "windlass_things_total 2") {
		t.Errorf("the counter is not served:\n%s", rec.Body.String())
	}

	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	ctx := trace.ContextWithSpanContext(t.Context(), sc)
	tel.Log.InfoContext(ctx, "hello")
	if !strings.Contains(out.String(), "trace_id=01000000") || telemetry.TraceID(ctx) == "" {
		t.Errorf("the log line does not lead to its trace: %s", out.String())
	}
}

func TestBadConfigNamesTheKey(t *testing.T) {
	for key, cfg := range map[string]telemetry.Config{
		"telemetry.log_level":  {LogLevel: "loud", LogFormat: "text"},
		"telemetry.log_format": {LogLevel: "info", LogFormat: "xml"},
	} {
		if _, err := telemetry.Setup(t.Context(), "test", "v0", cfg, &lines{}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("err = %v, want it to name %s", err, key)
		}
	}
}

func TestTraceParentTravels(t *testing.T) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	stored := telemetry.TraceParent(trace.ContextWithSpanContext(t.Context(), sc))
	got := trace.SpanContextFromContext(telemetry.WithTraceParent(t.Context(), stored))
	if got.TraceID() != sc.TraceID() || got.SpanID() != sc.SpanID() || !got.IsSampled() || !got.IsRemote() {
		t.Errorf("%q gives %+v", stored, got)
	}
	if parent := telemetry.TraceParent(t.Context()); parent != "" {
		t.Errorf("no trace gives %q", parent)
	}
	for _, none := range []string{"", "nonsense"} {
		if sc := trace.SpanContextFromContext(telemetry.WithTraceParent(t.Context(), none)); sc.IsValid() {
			t.Errorf("%q gives %+v", none, sc)
		}
	}
}

// TestInstance: replicas have ids of their own, which keep their metrics apart, and a configured id is kept.
func TestInstance(t *testing.T) {
	id := regexp.MustCompile(`\ntarget_info\{.*service_instance_id="([^"]+)"`)
	instance := func(resource string) string {
		cfg := config.Default[telemetry.Config]()
		cfg.OTLP.Resource = resource
		tel, err := telemetry.Setup(t.Context(), "test", "v0", cfg, &lines{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tel.Shutdown(t.Context()) }()
		rec := httptest.NewRecorder()
		tel.Metrics.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if found := id.FindStringSubmatch(rec.Body.String()); found != nil {
			return found[1]
		}
		return ""
	}
	if a, b := instance(""), instance(""); a == "" || a == b {
		t.Errorf("two processes are %q and %q", a, b)
	}
	if got := instance("service.instance.id=mine"); got != "mine" {
		t.Errorf("the configured id is %q", got)
	}
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=pod")
	if got := instance(""); got != "pod" {
		t.Errorf("the id of the environment is %q", got)
	}
}
