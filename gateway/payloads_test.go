package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// permissions is an authorizer with a fixed answer.
type permissions struct {
	allow  bool
	denied []string
}

func (p *permissions) Decide(_ context.Context, pr *policyv1.Principal, permission string) (authz.Verdict, error) {
	return authz.Verdict{Allowed: p.allow && pr.GetSubject() == authn.Local().GetSubject() && permission == "temporal.payloads.decode"}, nil
}

func (p *permissions) RecordDenied(_ context.Context, _ *policyv1.Principal, permission, _ string) {
	p.denied = append(p.denied, permission)
}

// TestS18TheCodecEndpointNeedsAuthentication: who may not call the API may not decode either, nor may pages other than the Temporal UI.
func TestS18TheCodecEndpointNeedsAuthentication(t *testing.T) {
	const ui = "http://127.0.0.1:8233"
	codec := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("decoded")) })
	with := func(p *permissions) *server {
		return serve(t, func(c *gateway.Config, d *gateway.Deps) {
			c.TemporalUI, d.Payloads, d.Authorizer = ui, codec, p
		})
	}
	may, mayNot := &permissions{allow: true}, &permissions{}
	open := with(may)
	for _, r := range []struct {
		name    string
		s       *server
		method  string
		headers []string
		status  int
	}{
		{"the UI", open, "POST", []string{"Origin", ui, "Sec-Fetch-Site", "same-site"}, 200},
		{"the UI by another name", open, "POST", []string{"Origin", "http://localhost:8233", "Sec-Fetch-Site", "cross-site"}, 200},
		{"a preflight of the UI", open, "OPTIONS", []string{"Origin", ui, "Access-Control-Request-Method", "POST"}, 204},
		{"no page", open, "POST", nil, 200},
		{"a page at another port", open, "POST", []string{"Origin", "http://127.0.0.1:9999", "Sec-Fetch-Site", "same-site"}, 403},
		{"a page of another host", open, "POST", []string{"Origin", "http://evil.example.com:8233", "Sec-Fetch-Site", "cross-site"}, 403},
		{"a preflight of another page", open, "OPTIONS", []string{"Origin", "http://evil.example.com"}, 405},
		{"through a proxy", open, "POST", []string{"Origin", ui, "X-Forwarded-For", "203.0.113.9"}, 401},
		{"a page whose name was made to point here", open, "POST", []string{"Host", "evil.example.com"}, 401},
		{"a read", open, "GET", nil, 405},
		{"without the permission", with(mayNot), "POST", []string{"Origin", ui}, 403},
		{"no codec", serve(t, nil), "POST", nil, 404},
	} {
		t.Run(r.name, func(t *testing.T) {
			a := r.s.do(r.method, "/temporal/codec/decode", "{}", r.headers...)
			if a.status != r.status || (r.status == 200) != strings.Contains(string(a.body), "decoded") {
				t.Errorf("status %d, want %d: %s", a.status, r.status, a.body)
			}
		})
	}
	if len(may.denied) != 0 || len(mayNot.denied) != 1 {
		t.Errorf("recorded denials: %v, %v", may.denied, mayNot.denied)
	}
	origin := func(path, from string) string {
		a := open.do("OPTIONS", path, "", "Origin", from, "Access-Control-Request-Method", "POST")
		return a.header.Get("Access-Control-Allow-Origin")
	}
	if got := origin("/temporal/codec/decode", ui); got != ui {
		t.Errorf("the UI's origin is answered with %q", got)
	}
	if got := origin("/v1/agents", ui); got != "" {
		t.Errorf("the UI may call the API: %q", got)
	}
}
