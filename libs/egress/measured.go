package egress

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// measured measures requests as otelhttp does and passes on the trace of a caller, in a process that makes no spans. otelhttp builds the
// attributes of a span in any case, copies the request and wraps its body, which makes net/http write head and body separately.
type measured struct {
	next http.RoundTripper
	// traced is for requests whose size is not known.
	traced   http.RoundTripper
	duration metric.Float64Histogram
	size     metric.Int64Histogram
	// kept holds the attributes of requests that were answered; kinds is their number.
	kept  sync.Map
	kinds atomic.Int32
}

// maxKinds bounds the kinds of requests whose attributes are kept.
const maxKinds = 1024

// kind is what the attributes of an answered request depend on.
type kind struct {
	scheme, method, host, proto string
	status                      int
}

// newMeasured returns a transport for a process without spans; nil if it has spans.
func newMeasured(next, traced http.RoundTripper) http.RoundTripper {
	if _, off := otel.GetTracerProvider().(noop.TracerProvider); !off {
		return nil
	}
	meter := otel.Meter(otelhttp.ScopeName, metric.WithInstrumentationVersion(otelhttp.Version))
	duration, err := httpconv.NewClientRequestDuration(meter,
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	if err != nil {
		return nil
	}
	size, err := httpconv.NewClientRequestBodySize(meter)
	if err != nil {
		return nil
	}
	return &measured{next: next, traced: traced, duration: duration.Inst(), size: size.Inst()}
}

// RoundTrip implements http.RoundTripper.
func (m *measured) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength <= 0 {
		return m.traced.RoundTrip(r)
	}
	begin, ctx := time.Now(), r.Context()
	if trace.SpanContextFromContext(ctx).IsValid() || baggage.FromContext(ctx).Len() > 0 {
		r = r.Clone(ctx)
		otel.GetTextMapPropagator().Inject(ctx, propagation.HeaderCarrier(r.Header))
	}
	res, err := m.next.RoundTrip(r)
	if err != nil {
		m.record(ctx, r, begin, metric.WithAttributeSet(attribute.NewSet(append(attributesOf(r, nil), errorType(err))...)))
		return res, err
	}
	m.record(ctx, r, begin, m.answered(r, res))
	return res, nil
}

func (m *measured) record(ctx context.Context, r *http.Request, begin time.Time, with metric.RecordOption) {
	m.size.Record(ctx, r.ContentLength, with)
	m.duration.Record(ctx, time.Since(begin).Seconds(), with)
}

func (m *measured) answered(r *http.Request, res *http.Response) metric.RecordOption {
	k := kind{r.URL.Scheme, r.Method, r.URL.Host, res.Proto, res.StatusCode}
	if kept, ok := m.kept.Load(k); ok {
		if option, ok := kept.(metric.MeasurementOption); ok {
			return option
		}
	}
	option := metric.WithAttributeSet(attribute.NewSet(attributesOf(r, res)...))
	if m.kinds.Add(1) <= maxKinds {
		m.kept.Store(k, option)
	}
	return option
}

// attributesOf returns the attributes of a request that HTTP metrics have; res is nil without an answer.
func attributesOf(r *http.Request, res *http.Response) []attribute.KeyValue {
	method, proto := strings.ToUpper(r.Method), r.Proto
	switch method {
	case http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost,
		http.MethodPut, http.MethodTrace:
	default:
		method = "_OTHER"
	}
	if res != nil && res.Proto != "" {
		proto = res.Proto
	}
	out := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(method), semconv.ServerAddress(r.URL.Hostname()), semconv.URLScheme(r.URL.Scheme),
	}
	if port := portOf(r.URL); port > 0 {
		out = append(out, semconv.ServerPort(port))
	}
	name, version, _ := strings.Cut(proto, "/")
	if name != "" {
		out = append(out, semconv.NetworkProtocolName(strings.ToLower(name)))
	}
	if version != "" {
		out = append(out, semconv.NetworkProtocolVersion(version))
	}
	if res != nil && res.StatusCode > 0 {
		out = append(out, semconv.HTTPResponseStatusCode(res.StatusCode))
	}
	return out
}

// errorType returns the name of an error's type.
func errorType(err error) attribute.KeyValue {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == "" || t.Name() == "" {
		return semconv.ErrorTypeKey.String(t.String())
	}
	return semconv.ErrorTypeKey.String(t.PkgPath() + "." + t.Name())
}

// portOf returns a port that is not the scheme's own; 0 for others.
func portOf(u *url.URL) int {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || u.Scheme == "https" && port == 443 || u.Scheme == "http" && port == 80 {
		return 0
	}
	return int(port)
}
