package harness

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
)

// Collector takes traces as an OpenTelemetry collector does.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer
	// URL is for telemetry.otlp_endpoint.
	URL string

	mu    sync.Mutex
	spans []Span
	text  strings.Builder
}

// Span is one span that arrived.
type Span struct {
	// Trace, ID and Parent are hex digits; Parent is empty for a root.
	Trace, ID, Parent string
	Name              string
	Kind              tracev1.Span_SpanKind
	// Start and End are unix nanoseconds.
	Start, End uint64
}

// NewCollector starts one.
func NewCollector(t testing.TB) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{URL: "http://" + l.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("collector: %v", err)
		}
	})
	return c
}

// Export implements the collector's service.
func (c *Collector) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(prototext.Format(req))
	for _, resource := range req.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name: s.GetName(), Kind: s.GetKind(), Start: s.GetStartTimeUnixNano(), End: s.GetEndTimeUnixNano(),
				})
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// Text returns everything that arrived, attributes included.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Trace returns the spans of a trace by start.
func (c *Collector) Trace(id string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Span
	for _, s := range c.spans {
		if s.Trace == id {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Span) int { return int(int64(a.Start) - int64(b.Start)) })
	return out
}

// Tree draws spans as a tree, for failures.
func Tree(spans []Span) string {
	var b strings.Builder
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	var draw func(parent string, depth int)
	draw = func(parent string, depth int) {
		for _, s := range spans {
			if s.Parent == parent || parent == "" && !known[s.Parent] {
				fmt.Fprintf(&b, "%s%s (%s, parent %q)\n", strings.Repeat("  ", depth), s.Name, s.Kind, s.Parent)
				draw(s.ID, depth+1)
			}
		}
	}
	draw("", 0)
	return b.String()
}
