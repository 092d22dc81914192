package gateway_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
)

func TestTheProcessIsKilledFromItsOwnConsoleOnly(t *testing.T) {
	killed := 0
	offered := serve(t, func(_ *gateway.Config, d *gateway.Deps) { d.Kill = func() { killed++ } })
	for _, r := range []struct {
		name    string
		s       *server
		method  string
		headers []string
		status  int
	}{
		{"not offered", serve(t, nil), "POST", nil, 404},
		{"a read", offered, "GET", nil, 404},
		{"a page of another origin", offered, "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page whose name was made to point here", offered, "POST", []string{"Host", "evil.example.com"}, 401},
		{"through a proxy", offered, "POST", []string{"X-Forwarded-For", "203.0.113.9"}, 401},
	} {
		t.Run(r.name, func(t *testing.T) {
			if a := r.s.do(r.method, "/debug/kill", "", r.headers...); a.status != r.status {
				t.Errorf("status %d, want %d: %s", a.status, r.status, a.body)
			}
		})
	}
	if a := offered.do("POST", "/debug/kill", "", "Sec-Fetch-Site", "same-origin"); killed != 1 || a.status != 202 {
		t.Errorf("killed %d times, status %d: %s", killed, a.status, a.body)
	}
	for s, want := range map[*server]bool{offered: true, serve(t, nil): false} {
		if page := s.do("GET", "/", ""); strings.Contains(string(page.body), `data-kill="/debug/kill"`) != want {
			t.Errorf("offered %t: the page is %s", want, page.body)
		}
	}
}
