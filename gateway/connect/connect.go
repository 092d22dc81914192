// Package connect serves the pages on which users connect sources with a login of their own: the consent page, and the callback of
// authorization servers. Policy decides; what is kept here are the cookies that tie an attempt to one browser.
package connect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Paths of the pages. At Path an attempt begins, below it is the consent page of each.
const (
	Path         = "/connect"
	CallbackPath = Path + "/callback"
	ClientPath   = Path + "/client.json"
	StylePath    = Path + "/style.css"
	DonePath     = Path + "/done"
)

const (
	// maxForm is the size of a form in bytes, lifetime that of cookies: as long as an attempt may take.
	maxForm  = 8 << 10
	lifetime = 10 * time.Minute
)

// Deps holds the dependencies of the pages; all are required.
type Deps struct {
	// URL is where browsers find the gateway.
	URL string
	// Gateway calls policy as the gateway itself, Users as the principal in the context.
	Gateway, Users policyv1.ConnectionServiceClient
	// Authenticate says who a browser is known as; an error means nobody.
	Authenticate func(*http.Request) (*policyv1.Principal, error)
	// Foreign returns an error for requests that pages of other origins make.
	Foreign func(*http.Request) error
	// Log receives what browsers are not told.
	Log *slog.Logger
}

// Pages serves them. It is safe for concurrent use.
type Pages struct {
	deps   Deps
	secure bool // cookies are for https only
	usable bool
}

// New returns the pages.
func New(deps Deps) *Pages {
	p := &Pages{deps: deps}
	if u, err := url.Parse(deps.URL); err == nil {
		ip := net.ParseIP(u.Hostname())
		p.secure = u.Scheme == "https"
		p.usable = p.secure || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	}
	return p
}

// Begin begins an attempt for the browser's user.
func (p *Pages) Begin(w http.ResponseWriter, r *http.Request) { p.serve(w, r, p.begin, nil) }

// Ticket shows the consent page of an attempt, and takes the user's decision.
func (p *Pages) Ticket(w http.ResponseWriter, r *http.Request) { p.serve(w, r, p.ask, p.decide) }

// Complete takes the response of the authorization server.
func (p *Pages) Complete(w http.ResponseWriter, r *http.Request) { p.serve(w, r, p.complete, nil) }

// Client serves the document about this client.
func (p *Pages) Client(w http.ResponseWriter, r *http.Request) { p.serve(w, r, p.describe, nil) }

// Done serves the page that ends an attempt.
func (p *Pages) Done(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, func(w http.ResponseWriter, r *http.Request) {
		p.message(w, r, http.StatusOK, "Connected", "You can close this page. Calls that waited for the connection go on by themselves.", "")
	}, nil)
}

// Style serves the style of the pages.
func (p *Pages) Style(w http.ResponseWriter, r *http.Request) {
	if isRead(r) {
		http.ServeFileFS(w, r, files, "style.css")
		return
	}
	p.serve(w, r, nil, nil)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serve serves a page by the request's method, if the address of the gateway is safe for its cookies.
func (p *Pages) serve(w http.ResponseWriter, r *http.Request, get, post http.HandlerFunc) {
	switch {
	case !p.usable:
		p.message(w, r, http.StatusForbidden, "Not available here", "The address of this server is not https.",
			"An operator sets gateway.url to the https address that browsers use.")
	case isRead(r):
		get(w, r)
	case r.Method == http.MethodPost && post != nil:
		post(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD")
		p.message(w, r, http.StatusMethodNotAllowed, "Not possible", "This page does not take that request.", "")
	}
}

func ticketOf(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, Path+"/") }

// browser is who the browser is known as; nil = nobody.
func (p *Pages) browser(r *http.Request) *policyv1.Principal {
	who, err := p.deps.Authenticate(r)
	if err != nil {
		return nil
	}
	return who
}

// begin begins an attempt for the user whom the browser is known as.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request) {
	source, user := r.URL.Query().Get("source"), r.URL.Query().Get("user")
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" {
		p.message(w, r, http.StatusForbidden, "Not possible", "Open this address by itself.", "")
		return
	}
	who := p.browser(r)
	if who == nil || user != "" && who.GetSubject() != user {
		text := "This browser is not logged in here."
		if who != nil {
			text = "This browser acts as " + who.GetSubject() + " here, and the connection is for " + user + "."
		}
		p.message(w, r, http.StatusForbidden, "Connect "+source, text,
			"Run: windlass connection create "+source+" as that user. It shows another address.")
		return
	}
	a, err := p.deps.Users.BeginConnection(authn.With(r.Context(), who), &policyv1.BeginConnectionRequest{Source: source})
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, a.GetConnectUrl(), http.StatusSeeOther)
}

// ask shows the consent page.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request) {
	ticket := ticketOf(r)
	d, err := p.deps.Gateway.DescribeConnectionAttempt(r.Context(), &policyv1.DescribeConnectionAttemptRequest{
		Ticket: ticket, Browser: p.browser(r),
	})
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	p.setCookie(w, "consent-"+short(ticket), d.GetConsent())
	page := consent{
		Subject: d.GetSubject(), Source: d.GetSource(), Destination: strings.TrimSuffix(d.GetDestination(), ":443"),
		Host: d.GetAuthorizationHost(), Ticket: ticket,
		Consent: d.GetConsent(), Until: d.GetExpireTime().AsTime().UTC().Format("15:04"), Scopes: d.GetScopes(),
	}
	if d.GetTenant() != authn.DefaultTenant {
		page.Tenant = d.GetTenant()
	}
	p.write(w, r, http.StatusOK, page, d.GetAuthorizationOrigin())
}

// decide takes the user's decision, and sends the browser to the authorization server.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request) {
	ticket := ticketOf(r)
	if err := p.deps.Foreign(r); err != nil {
		p.refuse(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	name, given := "consent-"+short(ticket), r.PostFormValue("consent")
	if given == "" || p.cookie(r, name) != given {
		given = "" // the page was shown elsewhere
	}
	d, err := p.deps.Gateway.DecideConnectionAttempt(r.Context(), &policyv1.DecideConnectionAttemptRequest{
		Ticket: ticket, Browser: p.browser(r), Consent: given, Allow: r.PostFormValue("decision") == "allow",
	})
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	p.dropCookie(w, name)
	if d.GetAuthorizationUrl() == "" {
		p.message(w, r, http.StatusOK, "Not connected", "You refused. You can close this page.", "")
		return
	}
	p.setCookie(w, d.GetCookie(), d.GetBinding())
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	http.Redirect(w, r, d.GetAuthorizationUrl(), http.StatusSeeOther)
}

// complete takes the response of the authorization server.
func (p *Pages) complete(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, values := range q {
		if len(values) > 1 { // RFC 6749, section 3.1
			p.message(w, r, http.StatusBadRequest, "Not connected", "The parameter "+name+" comes twice.", "")
			return
		}
	}
	state := q.Get("state")
	req := &policyv1.CompleteConnectionAttemptRequest{
		State: state, Code: q.Get("code"), Error: q.Get("error"), ErrorDescription: q.Get("error_description"),
		Binding: p.cookie(r, short(state)), Browser: p.browser(r),
	}
	if q.Has("iss") {
		iss := q.Get("iss")
		req.Iss = &iss
	}
	_, err := p.deps.Gateway.CompleteConnectionAttempt(r.Context(), req)
	if req.GetBinding() != "" {
		p.dropCookie(w, short(state))
	}
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, DonePath, http.StatusSeeOther) // so that the code is not in the address bar
}

// describe serves the document about this client.
func (p *Pages) describe(w http.ResponseWriter, _ *http.Request) {
	base := strings.TrimSuffix(p.deps.URL, "/")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the reader has gone
		"client_id": base + ClientPath, "client_name": "Windlass", "client_uri": base, "redirect_uris": []string{base + CallbackPath},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none", "application_type": "web",
	})
}

// short tells the cookies of several attempts apart.
func short(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])[:16]
}

// cookieName returns the name of a cookie. Browsers take the prefix only over https, for this host, from this host.
func (p *Pages) cookieName(name string) string {
	if p.secure {
		return "__Host-windlass-connect-" + name
	}
	return "windlass-connect-" + name
}

func (p *Pages) setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is off only for http on this machine
		Name: p.cookieName(name), Value: value, Path: "/", MaxAge: int(lifetime.Seconds()), Secure: p.secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // the callback is a navigation from another site
	})
}

func (p *Pages) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is off only for http on this machine
		Name: p.cookieName(name), Path: "/", MaxAge: -1, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (p *Pages) cookie(r *http.Request, name string) string {
	all := r.CookiesNamed(p.cookieName(name))
	if len(all) != 1 { // somebody else may have set another one
		return ""
	}
	return all[0].Value
}

func (p *Pages) write(w http.ResponseWriter, r *http.Request, status int, content any, leadsTo string) {
	if err := write(w, status, content, leadsTo); err != nil {
		p.deps.Log.DebugContext(r.Context(), "cannot write a page", "error", err)
	}
}

func (p *Pages) message(w http.ResponseWriter, r *http.Request, status int, title, text, hint string) {
	p.write(w, r, status, message{title, text, hint}, "")
}

// refuse shows an error.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(err)
	p.deps.Log.InfoContext(r.Context(), "source was not connected", "error", err)
	text := f.Message
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	p.message(w, r, fault.HTTPStatus(f), "Not connected", text, f.Todo)
}
