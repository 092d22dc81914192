package gateway_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
)

func TestS5TheDocumentAboutTokens(t *testing.T) {
	const path = "/.well-known/oauth-protected-resource"
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) {
		c.URL, c.Issuers = "https://mesh.example.com/", []string{"https://id.example.com"}
	})
	a := s.do("GET", path, "")
	got := strings.TrimSpace(string(a.body))
	const want = `{"resource":"https://mesh.example.com","authorization_servers":["https://id.example.com"],` +
		`"bearer_methods_supported":["header"],"resource_name":"Windlass"}`
	if a.status != 200 || got != want || a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v %s", a.status, a.header, got)
	}
	if a := s.do("POST", path, "{}"); a.status != 405 {
		t.Errorf("POST: %d", a.status)
	}
	for _, other := range []string{path + "/x", path + "x", path + "/"} {
		if a := s.do("GET", other, ""); a.status != 404 {
			t.Errorf("%s: %d", other, a.status)
		}
	}
	if a := serve(t, nil).do("GET", path, ""); a.status != 404 {
		t.Errorf("without issuers: %d %s", a.status, a.body)
	}
}
