package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/test/harness"
)

// port is one of the HTTP ports, and a request that its own pages or programs make.
type port struct {
	name, url, method, path, body string
	// open means that there is no state that a page could change or read: other origins get what everyone gets.
	open bool
}

// TestS20WebPagesOfOthers tries on every port what pages of other origins can have a browser do: forms, scripts with and without CORS,
// frames, and names that they make point here.
func TestS20WebPagesOfOthers(t *testing.T) {
	t.Parallel()
	metrics, admin := harness.FreeAddr(t), harness.FreeAddr(t)
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_INFERENCE_DETECT=false", "WINDLASS_TELEMETRY_METRICS_ADDR=" + metrics})
	harness.Start(t, "bus", []string{
		"WINDLASS_MESH_KEY=a-key-for-tests-that-is-long-enough-0123456789", "WINDLASS_BUS_LISTEN=127.0.0.1:0",
		"WINDLASS_MESH_METRICS=" + admin,
		"WINDLASS_BUS_DIR=" + t.TempDir(),
	}, harness.Bin(t, "windlassd"), "bus")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`
	gateway, issuer, ui := up.Client.Base, text(up.Process, "issuer"), text(up.Process, "temporal_ui")
	for _, p := range []port{
		{name: "API", url: gateway, method: "POST", path: "/v1/sessions", body: `{}`},
		{name: "reads of the API", url: gateway, method: "GET", path: "/v1/sessions"},
		{name: "streams", url: gateway, method: "GET", path: "/v1/events"},
		{name: "MCP", url: gateway, method: "POST", path: "/mcp", body: initialize},
		{name: "codec", url: gateway, method: "POST", path: "/temporal/codec/decode", body: `{"payloads":[]}`},
		{name: "end of the process", url: gateway, method: "POST", path: "/debug/kill"},
		{name: "metrics of the gateway", url: gateway, method: "GET", path: "/metrics"},
		{name: "console", url: gateway, method: "GET", path: "/", open: true},
		{name: "readiness", url: gateway, method: "GET", path: "/readyz", open: true},
		{name: "Temporal UI", url: ui, method: "GET", path: "/api/v1/namespaces/default/workflows"},
		{name: "buttons of the Temporal UI", url: ui, method: "POST", path: "/api/v1/namespaces/default/workflows/x/terminate", body: "{}"},
		{name: "issuer", url: issuer, method: "POST", path: "/login", body: "id=1&username=alice&password=x&decision=allow"},
		{name: "metrics port", url: "http://" + metrics, method: "GET", path: "/metrics", open: true},
		{name: "admin port", url: "http://" + admin, method: "GET", path: "/readyz", open: true},
	} {
		t.Run(p.name, func(t *testing.T) { p.test(t) })
	}
	t.Run("gRPC", func(t *testing.T) {
		addr := text(up.Process, "grpc")
		for name, md := range map[string]metadata.MD{
			"an origin": metadata.Pairs("origin", "https://evil.example"), "no origin": metadata.Pairs("origin", "null"),
			"a script": metadata.Pairs("sec-fetch-site", "cross-site"),
		} {
			if got := listByGRPCWith(t, addr, md); got != codes.PermissionDenied {
				t.Errorf("%s: %s", name, got)
			}
		}
		for authority, want := range map[string]codes.Code{
			"evil.example": codes.PermissionDenied, "evil.example:9090": codes.PermissionDenied, "localhost": codes.OK, "127.0.0.1:1": codes.OK,
			"null": codes.PermissionDenied,
		} {
			if got := listByGRPCAs(t, addr, authority, nil); got != want {
				t.Errorf(":authority %s: %s", authority, got)
			}
		}
	})
	t.Run("what everyone may see", func(t *testing.T) {
		if got := get(t, "http://"+admin+"/readyz"); got != `{"status":"ready"}` {
			t.Errorf("readiness of a process that trusts nobody: %s", got)
		}
		if got := statusOf(t, "http://"+admin+"/metrics"); got != http.StatusUnauthorized {
			t.Errorf("its metrics: %d", got)
		}
		if got := get(t, gateway+"/readyz"); !strings.Contains(got, "checks") {
			t.Errorf("readiness for the local user: %s", got)
		}
	})
}

// test makes requests that a page of another origin can make, and one of the port's own.
func (p port) test(t *testing.T) {
	own := "http://" + strings.TrimPrefix(p.url, "http://")
	for _, row := range []struct {
		name   string
		header []string
		host   string
		want   []int
	}{
		{"a name made to point here", nil, "evil.example", []int{421}},
		{"such a name with the port", []string{"Origin", "http://evil.example:8080"}, "evil.example:8080", []int{421}},
		{"a name that begins like ours", nil, "localhost.evil.example", []int{421}},
		{"another address of the network", nil, "192.0.2.1", []int{421}},
		{"a form", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, "", p.refused()},
		{"a form in an old browser", []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, "", p.refused()},
		{"a page without origin", []string{"Origin", "null"}, "", p.refused()},
		{"a page of another port", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, "", p.refused()},
		{"a script with cookies", []string{
			"Origin", "https://evil.example", "Cookie", "windlass=1", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors",
		}, "", p.refused()},
		{"a name of ours as origin", []string{"Origin", own, "Sec-Fetch-Site", "cross-site"}, "", p.refused()},
	} {
		status, header := p.do(t, row.host, row.header)
		if !slices.Contains(row.want, status) {
			t.Errorf("%s: %d, want one of %v", row.name, status, row.want)
		}
		for name, values := range header {
			if strings.HasPrefix(name, "Access-Control-") && !slices.Contains(row.header, strings.Join(values, "")) {
				t.Errorf("%s: %s: %s", row.name, name, values)
			}
		}
		if header.Get("X-Frame-Options") != "DENY" || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: it can be framed: %v", row.name, header)
		}
	}
	if got := p.withoutHost(t); got != "400" && got != "421" {
		t.Errorf("without a host: %s", got)
	}
}

// refused are the statuses of a request that a page of another origin makes.
func (p port) refused() []int {
	if p.open {
		return []int{200}
	}
	return []int{403}
}

func (p port) do(t *testing.T, host string, header []string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), p.method, p.url+p.path, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// withoutHost returns the status of a request of HTTP/1.0, which needs no Host header.
func (p port) withoutHost(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", p.path); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, 64))
	_, rest, _ := strings.Cut(string(answer), " ")
	status, _, _ := strings.Cut(rest, " ")
	return status
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return strings.TrimSpace(string(body))
}
