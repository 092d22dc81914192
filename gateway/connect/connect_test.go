package connect_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/connect"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// policy answers as policy does for one attempt, and keeps what it was asked.
type policy struct {
	policyv1.ConnectionServiceClient
	decided   *policyv1.DecideConnectionAttemptRequest
	completed *policyv1.CompleteConnectionAttemptRequest
}

func (*policy) DescribeConnectionAttempt(context.Context, *policyv1.DescribeConnectionAttemptRequest, ...grpc.CallOption) (
	*policyv1.DescribeConnectionAttemptResponse, error,
) {
	return &policyv1.DescribeConnectionAttemptResponse{
		Subject: "dev:<alice>", Tenant: "default", Source: "crm", Scopes: []string{"read"}, AuthorizationHost: "id.example.com",
		AuthorizationOrigin: "https://id.example.com", Consent: "consent-secret",
	}, nil
}

func (p *policy) DecideConnectionAttempt(_ context.Context, req *policyv1.DecideConnectionAttemptRequest, _ ...grpc.CallOption) (
	*policyv1.DecideConnectionAttemptResponse, error,
) {
	p.decided = req
	return &policyv1.DecideConnectionAttemptResponse{
		AuthorizationUrl: "https://id.example.com/authorize?state=s", Binding: "binding-secret", Cookie: "043a718774c572bd", Source: "crm",
	}, nil // the cookie's name is of the state "s"
}

func (p *policy) CompleteConnectionAttempt(_ context.Context, req *policyv1.CompleteConnectionAttemptRequest, _ ...grpc.CallOption) (
	*policyv1.CompleteConnectionAttemptResponse, error,
) {
	p.completed = req
	return &policyv1.CompleteConnectionAttemptResponse{Source: "crm"}, nil
}

func pages(address string, p *policy) *connect.Pages {
	return connect.New(connect.Deps{
		URL: address, Gateway: p, Users: p, Log: slog.New(slog.DiscardHandler),
		Authenticate: func(*http.Request) (*policyv1.Principal, error) { return nil, errors.New("nobody") },
		Foreign: func(r *http.Request) error {
			if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
				return errors.New("foreign")
			}
			return nil
		},
	})
}

func do(p *connect.Pages, method, target string, form url.Values, cookies ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	if r.URL.Path == connect.CallbackPath {
		p.Complete(w, r)
	} else {
		p.Ticket(w, r)
	}
	return w.Result()
}

func TestS23CookiesOfTheFlow(t *testing.T) {
	for address, prefix := range map[string]string{
		"https://windlass.example.com": "__Host-windlass-connect-", "http://127.0.0.1:8080": "windlass-connect-",
	} {
		served := &policy{}
		p := pages(address, served)
		secure := strings.HasPrefix(address, "https")
		right := func(res *http.Response) *http.Cookie {
			t.Helper()
			for _, c := range res.Cookies() {
				if c.MaxAge > 0 && strings.HasPrefix(c.Name, prefix) && c.HttpOnly && c.Secure == secure && c.Path == "/" && c.Domain == "" &&
					c.SameSite == http.SameSiteLaxMode && c.MaxAge <= 600 {
					return c
				}
			}
			t.Fatalf("%s: cookies %v", address, res.Cookies())
			return nil
		}
		shown := do(p, "GET", "/connect/ticket", nil)
		consent := right(shown)
		if csp := shown.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") ||
			!strings.Contains(csp, "form-action 'self' https://id.example.com;") || shown.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", shown.Header)
		}
		form := url.Values{"consent": {"consent-secret"}, "decision": {"allow"}}
		do(p, "POST", "/connect/ticket", form)
		if served.decided.GetConsent() != "" {
			t.Error("a consent without its cookie was passed on")
		}
		do(p, "POST", "/connect/ticket", form, consent, consent)
		if served.decided.GetConsent() != "" {
			t.Error("of two cookies one was chosen")
		}
		went := do(p, "POST", "/connect/ticket", form, consent)
		if served.decided.GetConsent() != "consent-secret" || went.StatusCode != http.StatusSeeOther {
			t.Errorf("consent %v, status %d", served.decided, went.StatusCode)
		}
		binding := right(went)
		back := do(p, "GET", "/connect/callback?state=s&code=c&iss=i", nil, binding)
		if c := served.completed; c.GetBinding() != "binding-secret" || c.GetIss() != "i" || c.GetCode() != "c" ||
			back.Header.Get("Location") != "/connect/done" {
			t.Errorf("completed with %v: %v", c, back.Header)
		}
		served.completed = nil
		res := do(p, "GET", "/connect/callback?state=s&code=c&code=d", nil, binding)
		if res.StatusCode != http.StatusBadRequest || served.completed != nil {
			t.Errorf("a parameter that comes twice: %d", res.StatusCode)
		}
	}
}

func TestPagesNeedASafeAddress(t *testing.T) {
	if res := do(pages("http://windlass.example.com", &policy{}), "GET", "/connect/ticket", nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("over http: %d", res.StatusCode)
	}
}

func TestNamesAreEscaped(t *testing.T) {
	res := do(pages("https://windlass.example.com", &policy{}), "GET", "/connect/ticket", nil)
	var b strings.Builder
	if err := res.Write(&b); err != nil || !strings.Contains(b.String(), "dev:&lt;alice&gt;") {
		t.Errorf("page %s, %v", b.String(), err)
	}
}
