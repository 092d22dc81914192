package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

// collector takes all three signals.
type collector struct {
	mu   sync.Mutex
	text strings.Builder
	keys map[string]int
}

func (c *collector) take(ctx context.Context, what string, m proto.Message) {
	md, _ := metadata.FromIncomingContext(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(prototext.MarshalOptions{}.Format(m) + "\n")
	for _, key := range md.Get("x-key") {
		c.keys[what+" "+key]++
	}
}

type (
	tracesServer struct {
		collectortraces.UnimplementedTraceServiceServer
		*collector
	}
	metricsServer struct {
		collectormetrics.UnimplementedMetricsServiceServer
		*collector
	}
	logsServer struct {
		collectorlogs.UnimplementedLogsServiceServer
		*collector
	}
)

func (s tracesServer) Export(ctx context.Context, r *collectortraces.ExportTraceServiceRequest) (
	*collectortraces.ExportTraceServiceResponse, error,
) {
	s.take(ctx, "traces", r)
	return &collectortraces.ExportTraceServiceResponse{}, nil
}

func (s metricsServer) Export(ctx context.Context, r *collectormetrics.ExportMetricsServiceRequest) (
	*collectormetrics.ExportMetricsServiceResponse, error,
) {
	s.take(ctx, "metrics", r)
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

func (s logsServer) Export(ctx context.Context, r *collectorlogs.ExportLogsServiceRequest) (
	*collectorlogs.ExportLogsServiceResponse, error,
) {
	s.take(ctx, "logs", r)
	return &collectorlogs.ExportLogsServiceResponse{}, nil
}

// listen returns an address on which nothing answers yet.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve starts a collector.
func serve(t *testing.T, l net.Listener) *collector {
	t.Helper()
	c := &collector{keys: map[string]int{}}
	s := grpc.NewServer()
	collectortraces.RegisterTraceServiceServer(s, tracesServer{collector: c})
	collectormetrics.RegisterMetricsServiceServer(s, metricsServer{collector: c})
	collectorlogs.RegisterLogsServiceServer(s, logsServer{collector: c})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

func exporting(t *testing.T, to net.Listener, out io.Writer) *telemetry.Telemetry {
	t.Helper()
	cfg := config.Default[telemetry.Config]()
	cfg.OTLPEndpoint = "http://" + to.Addr().String()
	cfg.OTLP.Metrics, cfg.OTLP.Logs = true, true
	cfg.OTLP.Headers, cfg.OTLP.Resource = secret.New("x-key=a%20b"), "deployment.environment.name=trial"
	tel, err := telemetry.Setup(t.Context(), "test", "v0", cfg, out)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

// TestAllSignalsAreSent: spans, metrics and log lines reach a collector, with its headers, what is configured of the process, and the span
// of each log line.
func TestAllSignalsAreSent(t *testing.T) {
	l := listen(t)
	c := serve(t, l)
	var out lines
	tel := exporting(t, l, &out)
	ctx, span := otel.Tracer("test").Start(t.Context(), "piece-of-work")
	tel.Log.InfoContext(ctx, "line-of-work", "secret", secret.New("hunter2"))
	tel.Log.DebugContext(ctx, "below the level")
	counter, err := otel.Meter("test").Int64Counter("counted.work")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(ctx, 3)
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.text.String()
	for _, want := range []string{"piece-of-work", "line-of-work", "counted.work", "windlass.build_info", "trial"} {
		if !strings.Contains(text, want) {
			t.Errorf("the collector did not get %q", want)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "below the level") {
		t.Error("the collector got a secret, or a line below the level")
	}
	for _, signal := range []string{"traces a b", "metrics a b", "logs a b"} {
		if c.keys[signal] == 0 {
			t.Errorf("no export of %s with its header: %v", signal, c.keys)
		}
	}
	if !strings.Contains(out.String(), "span_id="+span.SpanContext().SpanID().String()) {
		t.Errorf("the log line has no span: %s", out.String())
	}
}

// TestCollectorAway: without a collector nothing waits, what is kept is bounded, and the log says so once.
func TestCollectorAway(t *testing.T) {
	l := listen(t)
	defer l.Close() // accepts connections and never answers
	var out lines
	tel := exporting(t, l, &out)
	for range 20_000 {
		ctx, span := otel.Tracer("test").Start(t.Context(), "piece-of-work")
		tel.Log.DebugContext(ctx, "line-of-work")
		span.End()
	}
	tel.Metrics.ServeHTTP(discard{}, must(http.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tel.Shutdown(ctx); err == nil {
		t.Error("a shutdown without a collector says nothing of what was lost")
	}
	if n := strings.Count(out.String(), "telemetry failed"); n > 1 {
		t.Errorf("%d log lines about a collector that is away", n)
	}
}

// lines is a log. Exporters write to the newest one, also those that a shutdown in an earlier test gave up on.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}

func TestBadOTLPSettings(t *testing.T) {
	for name, change := range map[string]func(*telemetry.Config){
		"telemetry.otlp_endpoint": func(c *telemetry.Config) { c.OTLPEndpoint = "collector:4317" },
		"telemetry.otlp.headers":  func(c *telemetry.Config) { c.OTLPEndpoint, c.OTLP.Headers = "http://c:1", secret.New("hunter2") },
		"telemetry.otlp.resource": func(c *telemetry.Config) { c.OTLP.Resource = "=x" },
		"otlp_endpoint":           func(c *telemetry.Config) { c.OTLP.Logs = true },
		"https":                   func(c *telemetry.Config) { c.OTLPEndpoint, c.OTLP.CA = "http://c:1", "ca.pem" },
	} {
		cfg := config.Default[telemetry.Config]()
		change(&cfg)
		_, err := telemetry.Setup(t.Context(), "test", "v0", cfg, &lines{})
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v, want it to name %s", err, name)
		}
	}
}
