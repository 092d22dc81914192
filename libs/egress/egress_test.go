package egress_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func newEgress(t *testing.T, cfg egress.Config) *egress.Egress {
	t.Helper()
	e, err := egress.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.CloseIdle)
	return e
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(res.Body)
	return string(body), errors.Join(err, res.Body.Close())
}

// Allowed addresses are not actually dialled: the context is already over, and the check comes first.
func TestAddresses(t *testing.T) {
	prefixes := []netip.Prefix{
		netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16"),
		netip.MustParsePrefix("169.254.0.0/16"),
	}
	type row struct {
		addr                    string
		local, public, clusters bool // may be dialled
	}
	for _, tc := range []row{
		{"127.0.0.1", true, false, false},
		{"::1", true, false, false},
		{"::ffff:127.0.0.1", true, false, false},
		{"0.0.0.0", true, false, false},
		{"192.168.1.1", true, false, false},
		{"10.1.2.3", true, true, true},
		{"10.2.2.3", true, false, false},
		{"::ffff:10.1.2.3", true, true, true},
		{"fd12::1", true, true, true},
		{"fd13::1", true, false, false},
		{"100.64.0.1", true, false, false},
		{"93.184.216.34", true, true, false},
		{"2606:4700::1111", true, true, false},
		{"169.254.169.254", false, false, false},
		{"::ffff:169.254.169.254", false, false, false},
		{"64:ff9b::a9fe:a9fe", false, false, false},
		{"2002:a9fe:a9fe::1", false, false, false},
		{"64:ff9b:1::a9fe:a9fe", false, false, false},
		{"64:ff9b:1:a9fe:a9:fe00::", false, false, false},   // as RFC 6052 writes it after 48 bits,
		{"64:ff9b:1:a9:fe:a9fe::", false, false, false},     // after 56 bits,
		{"64:ff9b:1:0:a9:fea9:fe00:0", false, false, false}, // and after 64 bits
		{"64:ff9b:1::5db8:d822", true, false, false},
		{"fe80::1", false, false, false},
		{"fd00:ec2::254", false, false, false},
		{"100.100.100.200", false, false, false},
		{"224.0.0.1", false, false, false},
		{"255.255.255.255", false, false, false},
	} {
		for profile, want := range map[string]bool{egress.Local: tc.local, egress.Public: tc.public, egress.Cluster: tc.clusters} {
			t.Run(profile+" "+tc.addr, func(t *testing.T) {
				e := newEgress(t, egress.Config{Profile: profile, Allow: prefixes})
				err := egress.Check(e, netip.AddrPortFrom(netip.MustParseAddr(tc.addr), 443).String())
				if (err == nil) != want || err != nil && !errors.Is(err, egress.ErrDenied) {
					t.Errorf("check = %v, want allowed %v", err, want)
				}
			})
		}
	}
}

func TestDeniedCallSaysWhatToChange(t *testing.T) {
	var called atomic.Bool
	s := serve(t, func(http.ResponseWriter, *http.Request) { called.Store(true) })
	c := newEgress(t, egress.Config{Profile: egress.Public}).Client(egress.Options{})
	_, err := get(t, c, strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	var denied *egress.DeniedError
	if !errors.As(err, &denied) || denied.Host != "localhost" || !strings.Contains(err.Error(), "egress.allow_hosts") || called.Load() {
		t.Errorf("get = %v, called %v", err, called.Load())
	}
}

func TestAllowedHost(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	url := strings.Replace(s.URL, "127.0.0.1", "LocalHost", 1)
	for _, host := range []string{"localhost", "localhost."} {
		c := newEgress(t, egress.Config{Profile: egress.Cluster, AllowHosts: []string{host}}).Client(egress.Options{})
		if body, err := get(t, c, url); err != nil || body != "ok" {
			t.Errorf("get = %q, %v", body, err)
		}
		if _, err := get(t, c, s.URL); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("by address: %v, want ErrDenied", err)
		}
	}
	c := newEgress(t, egress.Config{Profile: egress.Cluster, AllowHosts: []string{"169.254.169.254"}}).Client(egress.Options{})
	if _, err := get(t, c, "http://169.254.169.254/latest"); !errors.Is(err, egress.ErrDenied) {
		t.Errorf("metadata although allowed by name: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []egress.Config{
		{},
		{Profile: "open"},
		{Profile: egress.Local, AllowHosts: []string{"http://x"}},
		{Profile: egress.Local, AllowHosts: []string{""}},
		{Profile: egress.Local, Allow: []netip.Prefix{{}}},
	} {
		if _, err := egress.New(cfg); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
}

func TestS8RedirectIsRefused(t *testing.T) {
	var arrived atomic.Bool
	target := serve(t, func(http.ResponseWriter, *http.Request) { arrived.Store(true) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/next?token=hunter2", http.StatusTemporaryRedirect)
	})
	c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
	_, err := get(t, c, s.URL)
	var redirect *egress.RedirectError
	if !errors.As(err, &redirect) || redirect.To != target.URL+"/next" || arrived.Load() {
		t.Errorf("get = %v, arrived %v", err, arrived.Load())
	}
}

func TestS8NoAmbientProxy(t *testing.T) {
	var proxied atomic.Bool
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied.Store(true) })
	t.Setenv("HTTP_PROXY", proxy.URL)
	c := newEgress(t, egress.Config{Profile: egress.Local, ConnectTimeout: time.Second}).Client(egress.Options{Timeout: time.Second})
	if _, err := get(t, c, "http://name.invalid/"); err == nil || proxied.Load() {
		t.Errorf("get = %v, proxied %v", err, proxied.Load())
	}
}

func TestResponseLimit(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := bytes.Repeat([]byte("x"), 1000)
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(body)
			_ = z.Close()
		case "/chunked":
			_, _ = w.Write(body[:10])
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(body[10:])
		default:
			_, _ = w.Write(body)
		}
	})
	e := newEgress(t, egress.Config{Profile: egress.Local})
	for _, path := range []string{"/plain", "/chunked", "/gzip"} {
		for limit, fits := range map[int64]bool{999: false, 1000: true, 1001: true, 0: true} {
			body, err := get(t, e.Client(egress.Options{MaxResponseBytes: limit}), s.URL+path)
			if fits && (err != nil || len(body) != 1000) || !fits && !errors.Is(err, egress.ErrTooLarge) || int64(len(body)) > max(limit, 1000) {
				t.Errorf("%s within %d: %d bytes, %v", path, limit, len(body), err)
			}
		}
	}
}

func TestStreamArrivesAsItIsSent(t *testing.T) {
	next := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "tick")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{MaxResponseBytes: 1 << 20})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	for range 3 {
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "tick" {
			t.Fatalf("read %q, %v", buf, err)
		}
		next <- struct{}{}
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestTimeoutCoversTheBody(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	defer close(release)
	c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{Timeout: 50 * time.Millisecond})
	if _, err := get(t, c, s.URL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get = %v", err)
	}
}

func TestAServerOfThisProcessIsReached(t *testing.T) {
	own, other := serve(t, func(http.ResponseWriter, *http.Request) {}), serve(t, func(http.ResponseWriter, *http.Request) {})
	addr := netip.MustParseAddrPort(strings.TrimPrefix(own.URL, "http://"))
	for _, profile := range []string{egress.Public, egress.Cluster} {
		c := newEgress(t, egress.Config{Profile: profile, AllowAddrs: []netip.AddrPort{addr}}).Client(egress.Options{})
		if _, err := get(t, c, own.URL); err != nil {
			t.Errorf("%s: %v", profile, err)
		}
		if _, err := get(t, c, other.URL); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("%s: another port of this machine: %v", profile, err)
		}
		if _, err := get(t, newEgress(t, egress.Config{Profile: profile}).Client(egress.Options{}), own.URL); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("%s: without that: %v", profile, err)
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	e := newEgress(t, egress.Config{Profile: egress.Local})
	for range 5 {
		if _, err := get(t, e.Client(egress.Options{MaxResponseBytes: 10}), s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 5 calls", n)
	}
}

func TestTLS(t *testing.T) {
	protocol := make(chan string, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { protocol <- r.Proto }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	if _, err := get(t, newEgress(t, egress.Config{Profile: egress.Local, CAs: pool}).Client(egress.Options{}), s.URL); err != nil {
		t.Fatal(err)
	}
	if p := <-protocol; p != "HTTP/2.0" {
		t.Errorf("protocol = %s", p)
	}
	if _, err := get(t, newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{}), s.URL); err == nil {
		t.Error("an unknown CA was trusted")
	}
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	t.Cleanup(old.Close)
	if _, err := get(t, newEgress(t, egress.Config{Profile: egress.Local, CAs: pool}).Client(egress.Options{}), old.URL); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
}

func TestTraceContextTravels(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	var header atomic.Value
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { header.Store(r.Header.Get("traceparent")) })
	if _, err := get(t, newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{}), s.URL); err != nil {
		t.Fatal(err)
	}
	ended := spans.Ended()
	if len(ended) != 1 || !strings.Contains(header.Load().(string), ended[0].SpanContext().TraceID().String()) {
		t.Errorf("%d spans, traceparent %q", len(ended), header.Load())
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPublicNarrowsOnly checks that what users choose reaches no private address, unless it is allowed, and nothing that the mesh does not.
func TestPublicNarrowsOnly(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, row := range []struct {
		cfg     egress.Config
		addr    string
		allowed bool
	}{
		{egress.Config{Profile: egress.Local}, s.Listener.Addr().String(), false},
		{egress.Config{Profile: egress.Local, Allow: allow}, s.Listener.Addr().String(), true},
		{egress.Config{Profile: egress.Local}, "93.184.216.34:443", true},
		{egress.Config{Profile: egress.Cluster}, "93.184.216.34:443", false},
	} {
		if err := egress.Check(newEgress(t, row.cfg).Public(), row.addr); (err == nil) != row.allowed {
			t.Errorf("%+v: %s: %v, want allowed %v", row.cfg, row.addr, err, row.allowed)
		}
	}
	e := newEgress(t, egress.Config{Profile: egress.Local})
	if _, err := get(t, e.Client(egress.Options{}), s.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, e.Public().Client(egress.Options{}), s.URL); !errors.Is(err, egress.ErrDenied) {
		t.Errorf("an open connection is used: %v", err)
	}
}
