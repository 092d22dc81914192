package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
)

// Only calls for one of the gateway's names are answered, whatever they ask for.
func TestHosts(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) {
		c.URL, c.Hosts = "https://windlass.example.com", []string{".mesh.internal"}
	})
	for host, want := range map[string]int{
		"windlass.example.com": 200, "windlass.example.com:443": 200, "gateway.mesh.internal:8080": 200, "localhost": 200, "127.0.0.1:1": 200,
		"evil.example": 421, "mesh.internal": 421, "192.0.2.1:8080": 421, "windlass.example.com.evil.example": 421,
	} {
		for _, path := range []string{"/healthz", "/v1/agents", "/", "/openapi.json", "/docs", "/docs/images/console-turn.png", "/nope"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if refused := resp.StatusCode == http.StatusMisdirectedRequest; refused != (want == 421) {
				t.Errorf("%s at %s: %d", path, host, resp.StatusCode)
			}
		}
	}
	if _, err := gateway.New(gateway.Config{Hosts: []string{"a:80"}}, depsOn(nil)); err == nil || !strings.Contains(err.Error(), "gateway") {
		t.Errorf("a name with a port: %v", err)
	}
}
