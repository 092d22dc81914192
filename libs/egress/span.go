package egress

import (
	"context"
	"net/http"
	"net/url"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

// traced creates a span for each call. The span's URL lacks query and user info, which may hold credentials; the request itself is
// unchanged.
func traced(next http.RoundTripper) http.RoundTripper {
	spans := hideQuery{otelhttp.NewTransport(restoreQuery{next}, otelhttp.WithSpanNameFormatter(
		func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Host }))}
	if m := newMeasured(next, spans); m != nil {
		return m
	}
	return spans
}

type urlKey struct{}

type hideQuery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h hideQuery) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.RawQuery == "" && r.URL.User == nil {
		return h.next.RoundTrip(r)
	}
	shown := r.WithContext(context.WithValue(r.Context(), urlKey{}, r.URL))
	shown.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path, RawPath: r.URL.RawPath}
	return h.next.RoundTrip(shown)
}

type restoreQuery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h restoreQuery) RoundTrip(r *http.Request) (*http.Response, error) {
	if whole, ok := r.Context().Value(urlKey{}).(*url.URL); ok {
		r = r.WithContext(r.Context())
		r.URL = whole
	}
	return h.next.RoundTrip(r)
}
