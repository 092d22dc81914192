package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/probe"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestWhoMayCall(t *testing.T) {
	local := serve(t, nil)
	closed := serve(t, func(_ *gateway.Config, d *gateway.Deps) { d.Authenticator = nil })
	rows := []struct {
		name    string
		s       *server
		headers []string
		status  int
	}{
		{"this machine", local, nil, 200},
		{"this machine by name", local, []string{"Host", "localhost:8080"}, 200},
		{"this machine by IPv6", local, []string{"Host", "[::1]:8080"}, 200},
		{"a page whose name was made to point here", local, []string{"Host", "evil.example.com"}, 401},
		{"with a token of nobody", local, []string{"Authorization", "Bearer for.ge.d"}, 401},
		{"with a key that a program had to be given", local, []string{"Authorization", "Bearer sk-local"}, 200},
		{"with such a key, through a proxy", local, []string{"Authorization", "Bearer sk-local", "Via", "1.1 x"}, 401},
		{"with such a key, for another name", local, []string{"Authorization", "Bearer x", "Host", "evil.example.com"}, 401},
		{"with a password", local, []string{"Authorization", "Basic bG9jYWw6"}, 401},
		{"through a proxy", local, []string{"X-Forwarded-For", "203.0.113.9"}, 401},
		{"where local calls are refused", closed, nil, 401},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, path := range []string{"/v1/agents", "/v1/turns/t/events", "/v1/nope"} {
				if r.status == 200 && path != "/v1/agents" {
					continue
				}
				a := r.s.do("GET", path, "", r.headers...)
				if a.status != r.status {
					t.Errorf("%s: status %d, want %d: %s", path, a.status, r.status, a.body)
				}
				if r.status == 401 && (a.problem(t).Code != "unauthenticated" || a.header.Get("WWW-Authenticate") == "") {
					t.Errorf("%s: %s", path, a.body)
				}
			}
			if a := r.s.do("GET", "/healthz", "", r.headers...); a.status != 200 {
				t.Errorf("/healthz: status %d", a.status)
			}
		})
	}
}

func TestCallerCannotNameAPrincipal(t *testing.T) {
	s := serve(t, nil)
	if a := s.do("GET", "/v1/agents", "", "Authorization", "forged"); a.status != 401 {
		t.Errorf("a caller on this machine with a token that is not accepted: status %d: %s", a.status, a.body)
	}
	for _, name := range []string{"Windlass-Principal", "Grpc-Metadata-Windlass-Principal", "X-Windlass-Principal"} {
		if a := s.do("GET", "/v1/agents", "", name, "forged"); a.status != 200 {
			t.Errorf("%s: status %d: %s", name, a.status, a.body)
		}
		for key, values := range s.up.metadata {
			if strings.Contains(strings.Join(values, " "), "forged") {
				t.Errorf("%s came through as %s", name, key)
			}
		}
	}
}

func TestOtherOrigins(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.CORSOrigins = []string{"https://app.example.com"} })
	const good, bad = "https://app.example.com", "https://evil.example.com"
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"}
	if a := s.do("OPTIONS", "/v1/chat", "", append(ask, "Origin", good)...); a.status != 204 ||
		a.header.Get("Access-Control-Allow-Origin") != good {
		t.Errorf("preflight: %d %v", a.status, a.header)
	}
	if a := s.do("OPTIONS", "/v1/chat", "", append(ask, "Origin", bad)...); a.status != 403 ||
		a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of another: %d %v", a.status, a.header)
	}
	if a := s.do("POST", "/v1/chat", `{"message":"x"}`, "Origin", good, "Sec-Fetch-Site", "cross-site"); a.status != 200 ||
		a.header.Get("Access-Control-Allow-Origin") != good {
		t.Errorf("call: %d %s", a.status, a.body)
	}
	if a := s.do("POST", "/v1/chat", `{"message":"x"}`, "Origin", bad, "Sec-Fetch-Site", "cross-site"); a.status != 403 {
		t.Errorf("call of another: %d %s", a.status, a.body)
	}
	if a := s.do("POST", "/v1/chat", `{"message":"x"}`, "Origin", s.url, "Sec-Fetch-Site", "same-origin"); a.status != 200 {
		t.Errorf("our own page: %d %s", a.status, a.body)
	}
}

func TestTimeouts(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.Timeout, c.MaxTimeout = time.Hour, 2*time.Hour })
	rows := []struct {
		name, header string
		least, most  time.Duration
	}{
		{"default", "", 30 * time.Minute, time.Hour},
		{"shorter", "10M", time.Minute, 10 * time.Minute},
		{"capped", "99999999H", 90 * time.Minute, 2 * time.Hour},
		{"longer than the default", "90M", 61 * time.Minute, 90 * time.Minute},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var headers []string
			if r.header != "" {
				headers = []string{"Grpc-Timeout", r.header}
			}
			if a := s.do("GET", "/v1/agents", "", headers...); a.status != 200 {
				t.Fatalf("status %d: %s", a.status, a.body)
			}
			if d := s.up.deadline; d < r.least || d > r.most {
				t.Errorf("upstream has %s, want %s to %s", d, r.least, r.most)
			}
		})
	}
	if a := s.do("GET", "/v1/agents", "", "Grpc-Timeout", "1n"); a.status != 504 || a.problem(t).Code != "deadline_exceeded" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestReadiness(t *testing.T) {
	broken := errors.New("dial postgres://user:secret@db")
	s := serve(t, func(_ *gateway.Config, d *gateway.Deps) {
		d.Ready = map[string]func(context.Context) error{
			"sessions database": func(context.Context) error { return nil },
			"temporal":          func(context.Context) error { return broken },
			"workers": probe.Degrades(func(context.Context) error {
				return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no worker runs").Hint("Start one.").Cause(broken)
			}),
		}
	})
	a := s.do("GET", "/readyz", "")
	got := a.json(t)
	checks, _ := got["checks"].(map[string]any)
	if a.status != 503 || len(checks) != 8 || checks["workers"] != "degraded" ||
		checks["temporal"] != "not ready" || checks["sessions"] != "ok" ||
		strings.Contains(string(a.body), "secret") {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if list, _ := got["not_ready"].([]any); len(list) != 1 || list[0] != "temporal" {
		t.Errorf("not_ready is %v", got["not_ready"])
	}
	if a := serve(t, nil).do("GET", "/readyz", ""); a.status != 200 || a.json(t)["status"] != "ready" {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestPlainPages(t *testing.T) {
	s := serve(t, func(c *gateway.Config, d *gateway.Deps) {
		c.TemporalUI, c.TemporalNamespace = "http://127.0.0.1:8233", "mesh"
		d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metric 1")) })
	})
	for path, want := range map[string]string{
		"/": "Windlass", "/inbox": "Windlass", "/turns/trn_1": "Windlass", "/sessions/ses_1": "Windlass",
		"/assets/app.css": "--accent", "/assets/app.js": "import", "/assets/docs.js": "figure.code", "/assets/icon.svg": "<svg", "/healthz": "ok",
		"/metrics": "metric 1", "/openapi.json": `"openapi": "3.1.0"`, "/openapi.client.json": `"openapi": "3.1.0"`,
		"/docs": "Documentation</h1>", "/docs?q=approval": "<mark>", "/docs/how-to/console": "Use the console</h1>",
		"/docs/how-to/console.md": "# Use the console", "/llms.txt": "# Windlass", "/llms-full.txt": "# Use the console",
	} {
		a := s.do("GET", path, "")
		if a.status != 200 || !strings.Contains(string(a.body), want) || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v %.80s", path, a.status, a.header, a.body)
		}
	}
	page := s.do("GET", "/", "")
	if !strings.Contains(string(page.body), `data-workflows="http://127.0.0.1:8233/namespaces/mesh/workflows/"`) {
		t.Errorf("the pages do not know the Temporal UI: %s", page.body)
	}
	if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy is %q", csp)
	}
	for _, path := range []string{
		"/assets/", "/assets/index.html", "/assets/../app.js", "/assets/x", "/sessions/", "/turns/trn_1/events", "/docs/",
		"/docs/docs.go", "/docsx",
	} {
		if a := s.do("GET", path, ""); a.status != 404 {
			t.Errorf("%s: status %d", path, a.status)
		}
	}
}

func TestPanicIsAProblem(t *testing.T) {
	var log strings.Builder
	panics := connFunc(func() { panic("boom") })
	deps := depsOn(panics)
	deps.Log = slog.New(slog.NewTextHandler(&log, nil))
	g, err := gateway.New(config.Default[gateway.Config](), deps)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(sameUser(t), http.MethodGet, "http://localhost/v1/agents", nil)
	r.RemoteAddr = "127.0.0.1:1"
	g.Handler().ServeHTTP(w, r)
	if w.Code != 500 || strings.Contains(w.Body.String(), "boom") || !strings.Contains(log.String(), "boom") {
		t.Errorf("got %d %s, log %s", w.Code, w.Body, log.String())
	}
}

type connFunc func()

func (f connFunc) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	f()
	return nil
}

func (f connFunc) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	f()
	return nil, nil
}

func TestConfigIsChecked(t *testing.T) {
	conn := connFunc(func() {})
	for name, change := range map[string]func(*gateway.Config, *gateway.Deps){
		"body":      func(c *gateway.Config, _ *gateway.Deps) { c.MaxBody = 0 },
		"timeout":   func(c *gateway.Config, _ *gateway.Deps) { c.MaxTimeout = time.Second },
		"heartbeat": func(c *gateway.Config, _ *gateway.Deps) { c.Heartbeat = 0 },
		"origin":    func(c *gateway.Config, _ *gateway.Deps) { c.CORSOrigins = []string{"*"} },
		"ui":        func(c *gateway.Config, _ *gateway.Deps) { c.TemporalUI = "javascript:alert(1)" },
		"log":       func(_ *gateway.Config, d *gateway.Deps) { d.Log = nil },
		"conn":      func(_ *gateway.Config, d *gateway.Deps) { d.Policy = nil },
	} {
		cfg, deps := config.Default[gateway.Config](), depsOn(conn)
		change(&cfg, &deps)
		if _, err := gateway.New(cfg, deps); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOneTraceFromTheRequestOn(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	t.Cleanup(func() {
		otel.SetTracerProvider(before)
		otel.SetTextMapPropagator(propagator)
	})
	s := serve(t, nil)
	const id = "0123456789abcdef0123456789abcdef"
	a := s.do("GET", "/v1/agents/a", "", "Traceparent", "00-"+id+"-0123456789abcdef-01")
	if a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	b := s.do("GET", "/v1/agents/a?bad=1", "", "Traceparent", "00-"+id+"-0123456789abcdef-01")
	if got := b.problem(t).TraceID; got != id {
		t.Errorf("the problem's trace is %q", got)
	}
	s.do("GET", "/healthz", "") // a request's span ends after its response: by now the previous one has ended
	var names []string
	for _, span := range spans.Ended() {
		if span.SpanContext().TraceID().String() == id {
			names = append(names, span.Name())
		}
	}
	for _, want := range []string{"GET /v1/agents/{agent_id}", "windlass.sessions.v1.AgentService/GetAgent"} {
		if !slices.Contains(names, want) {
			t.Errorf("spans of the trace are %q, %q is missing", names, want)
		}
	}
}
