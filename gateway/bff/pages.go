package bff

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
)

// Paths of the pages besides CallbackPath.
const (
	LoginPath  = "/login"
	LogoutPath = "/logout"
)

// Login sends the browser to the issuer.
func (b *BFF) Login(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	returnTo := ownPath(r.FormValue("return_to"))
	if !strings.EqualFold(r.Host, b.base.Host) { // cookies are of one host, that to which the issuer sends the browser back
		to := b.base.JoinPath(LoginPath)
		to.RawQuery = url.Values{"return_to": {returnTo}}.Encode()
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return
	}
	p, err := b.discover(r.Context())
	if err != nil {
		b.fail(w, r, http.StatusServiceUnavailable, "The identity provider does not answer. Try again.", err)
		return
	}
	a := attempt{
		State: newSecret(), Nonce: newSecret(), Verifier: oauth2.GenerateVerifier(), ReturnTo: returnTo, Expires: time.Now().Add(attemptTime),
	}
	if err := b.keepAttempt(w, r, a); err != nil {
		b.fail(w, r, http.StatusInternalServerError, "The login cannot begin.", err)
		return
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if b.cfg.Audience != "" {
		options = append(options, oauth2.SetAuthURLParam("audience", b.cfg.Audience))
	}
	http.Redirect(w, r, p.oauth.AuthCodeURL(a.State, options...), http.StatusSeeOther)
}

// ownPath returns a path of this gateway to return to: what a link says, unless a browser would take it for another host.
func ownPath(p string) string {
	u, err := url.Parse(p)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") ||
		strings.ContainsAny(p, "\\\t\r\n") || strings.HasPrefix(u.Path, "//") || strings.HasPrefix(p, LoginPath) {
		return "/"
	}
	return p
}

// Callback is where the issuer sends the browser back with a code.
func (b *BFF) Callback(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	a, err := b.takeAttempt(w, r)
	q := r.URL.Query()
	switch {
	case err != nil:
		b.fail(w, r, http.StatusBadRequest, "This login has expired, or began in another browser.", err)
		return
	case len(q["code"]) > 1:
		b.fail(w, r, http.StatusBadRequest, "This login did not begin here.", nil)
		return
	case q.Has("iss") && q.Get("iss") != b.cfg.Issuer: // RFC 9207
		b.fail(w, r, http.StatusBadRequest, "Another identity provider answered.", nil)
		return
	case q.Get("error") == "access_denied":
		b.fail(w, r, http.StatusForbidden, "You did not log in.", nil)
		return
	case q.Get("error") != "" || q.Get("code") == "":
		b.fail(w, r, http.StatusBadGateway, "The identity provider refuses the login.", &refusal{q.Get("error"), http.StatusFound})
		return
	}
	t, err := b.redeem(r.Context(), q.Get("code"), a)
	if err != nil {
		b.fail(w, r, http.StatusBadGateway, "The login could not be completed.", err)
		return
	}
	user, err := b.deps.Authenticator.Authenticate(r.Context(), authn.Credentials{Authorization: []string{"Bearer " + t.Access}})
	if err != nil {
		b.fail(w, r, http.StatusForbidden, "The access token of the identity provider is not accepted here: see identity.issuers.", err)
		return
	}
	b.forget(w, r) // of the user who was logged in before
	cookie, err := b.begin(r.Context(), t, user)
	if err != nil {
		b.fail(w, r, http.StatusServiceUnavailable, "The login cannot be kept now. Try again.", err)
		return
	}
	b.names.set(w, b.names.login, cookie, b.cfg.MaxAge)
	http.Redirect(w, r, a.ReturnTo, http.StatusSeeOther)
}

// forget deletes the login of a browser and returns its tokens, if it has one.
func (b *BFF) forget(w http.ResponseWriter, r *http.Request) (t tokens) {
	cookie, present := cookieValue(r, b.names.login)
	if !present {
		return t
	}
	b.names.set(w, b.names.login, "", 0)
	id := idOf(cookie)
	t, _, err := b.read(r.Context(), id)
	if err != nil {
		return tokens{} // it is over, or nothing can be done
	}
	if _, err := b.deps.Logins.DeleteLogin(r.Context(), &loginv1.DeleteLoginRequest{Id: id}); err != nil {
		b.deps.Log.WarnContext(r.Context(), "a login could not be deleted", "error", err)
	}
	return t
}

// Logout ends the login of the browser, here and at the issuer, and says where the page has to go for that.
func (b *BFF) Logout(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := b.ownPage(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	t := b.forget(w, r)
	if err := b.end(r.Context(), t); err != nil {
		b.deps.Log.WarnContext(r.Context(), "the issuer could not be told of a logout", "error", err)
	}
	body, err := json.Marshal(map[string]string{"location": b.farewell(r.Context(), t)})
	if err != nil {
		problem.Write(w, r, fault.Internal(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the browser may be gone
}

var failure = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Windlass</title></head>
<body><main><h1>You are not logged in</h1><p>{{.}}</p><p><a href="/login">Log in again</a> · <a href="/">Back</a></p></main></body></html>
`))

// fail shows a page. Its text says nothing about the reason that would help an attacker; the log does.
func (b *BFF) fail(w http.ResponseWriter, r *http.Request, status int, text string, err error) {
	b.deps.Log.WarnContext(r.Context(), "a login in a browser failed", "text", text, "error", err)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = failure.Execute(w, text) // the browser may be gone
}
