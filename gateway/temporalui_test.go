package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// uiUsers is an authorizer that lets the local user use the UI or not.
type uiUsers struct {
	permissions
	asked []string
}

func (p *uiUsers) Decide(_ context.Context, pr *policyv1.Principal, permission string) (authz.Verdict, error) {
	p.asked = append(p.asked, permission)
	return authz.Verdict{Allowed: p.allow && pr.GetSubject() == authn.Local().GetSubject()}, nil
}

// fakeUI answers as the UI of Temporal does, and keeps the last request.
type fakeUI struct{ last *http.Request }

func (f *fakeUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.last = r
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'self'")
	http.SetCookie(w, &http.Cookie{Name: "_csrf", Value: "token"})
	_, _ = io.WriteString(w, "the UI: "+r.URL.RequestURI())
}

// serveUI starts a gateway that serves a UI to who may use it, and returns the server of the UI.
func serveUI(t *testing.T, ui http.Handler, users *uiUsers) *server {
	t.Helper()
	behind := httptest.NewServer(ui)
	t.Cleanup(behind.Close)
	s := serve(t, func(c *gateway.Config, d *gateway.Deps) {
		c.TemporalUI, c.TemporalTarget, d.TemporalUI, d.Authorizer = "http://127.0.0.1:8233", behind.URL, behind.Client().Transport, users
		c.Hosts = nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.g.ServeTemporalUI(l) }()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := s.g.StopTemporalUI(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	on := *s
	on.url = "http://" + l.Addr().String()
	return &on
}

// TestTheTemporalUIIsForOperators: the UI gets requests of those who may use it only, and no credentials.
func TestTheTemporalUIIsForOperators(t *testing.T) {
	ui, may, mayNot := &fakeUI{}, &uiUsers{permissions: permissions{allow: true}}, &uiUsers{}
	open, closed := serveUI(t, ui, may), serveUI(t, ui, mayNot)
	const list = "/api/v1/namespaces/default/workflows?query=x"
	for _, row := range []struct {
		name    string
		s       *server
		method  string
		headers []string
		status  int
	}{
		{"its own page", open, "GET", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"a person who follows a link", open, "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a button", open, "POST", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"without the permission", closed, "GET", nil, 403},
		{"through a proxy, without a login", open, "GET", []string{"X-Forwarded-For", "203.0.113.9"}, 401},
		{"a script of another origin", open, "GET", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a page of the gateway", open, "POST", []string{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-site"}, 403},
		{"a name made to point here", open, "GET", []string{"Host", "rebind.example"}, 421},
	} {
		ui.last = nil
		a := row.s.do(row.method, list, "", row.headers...)
		served := strings.HasPrefix(string(a.body), "the UI: "+list)
		if a.status != row.status || served != (row.status == 200) || served != (ui.last != nil) {
			t.Errorf("%s: status %d, want %d: %s", row.name, a.status, row.status, a.body)
		}
		if csp := a.header.Values("Content-Security-Policy"); len(csp) != 1 || row.status == 200 != (csp[0] == "frame-ancestors 'self'") {
			t.Errorf("%s: content security policy %q", row.name, csp)
		}
	}
	if len(mayNot.denied) != 1 || mayNot.denied[0] != "temporal.ui.use" {
		t.Errorf("recorded denials: %v", mayNot.denied)
	}
}

func TestTheTemporalUIGetsNoCredentials(t *testing.T) {
	ui := &fakeUI{}
	open := serveUI(t, ui, &uiUsers{permissions: permissions{allow: true}})
	a := open.do("POST", "/x", `{"a":1}`, "Cookie", "windlass-8080=secret; _csrf=token", "X-Csrf-Token", "token",
		"Windlass-Provider-Data", "secret", "Origin", open.url, "Caller-Type", "operator")
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, values := range ui.last.Header {
		if strings.Contains(strings.Join(values, ""), "secret") || name == "Origin" || strings.HasPrefix(name, "X-Forwarded") {
			t.Errorf("the UI gets %s: %s", name, values)
		}
	}
	for name, want := range map[string]string{"Cookie": "_csrf=token", "X-Csrf-Token": "token", "Caller-Type": "operator"} {
		if got := ui.last.Header.Get(name); got != want {
			t.Errorf("the UI gets %s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(a.header.Get("Set-Cookie"), "_csrf") {
		t.Errorf("its cookie does not arrive: %v", a.header)
	}
}

func TestATemporalUIThatDoesNotAnswer(t *testing.T) {
	hangUp := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	open := serveUI(t, hangUp, &uiUsers{permissions: permissions{allow: true}})
	if a := open.do("GET", "/", ""); a.status != 503 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
