package issuer

import (
	"net/http"
	"net/url"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/flow"
	"github.com/windlass-dev/windlass/internal/issuer/page"
	"github.com/windlass-dev/windlass/libs/peercred"
)

// Texts of pages.
const (
	wrongPassword = "User or password is wrong."
	tooMany       = "Too many attempts. Wait a few seconds and try again."
)

// write renders a page; a browser that has gone is no error of ours.
func (i *Issuer) write(w http.ResponseWriter, r *http.Request, status int, content any, returnTo string) {
	if err := page.Write(w, status, content, returnTo); err != nil {
		i.log.DebugContext(r.Context(), "cannot write a page", "error", err)
	}
}

func (i *Issuer) message(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	i.write(w, r, status, page.Message{Title: title, Text: text}, "")
}

func (i *Issuer) expired(w http.ResponseWriter, r *http.Request) {
	i.message(w, r, http.StatusNotFound, "This login has expired", "Go back to the program that you came from, and log in again.")
}

// showLogin serves GET /login.
func (i *Issuer) showLogin(w http.ResponseWriter, r *http.Request) {
	req, err := i.flows.Request(r.FormValue("id"))
	if err != nil {
		i.expired(w, r)
		return
	}
	i.loginPage(w, r, http.StatusOK, req, "")
}

func (i *Issuer) loginPage(w http.ResponseWriter, r *http.Request, status int, req flow.Request, problem string) {
	host, origin := destination(req.Redirect)
	i.write(w, r, status, page.Login{
		ID: req.ID, Username: r.PostFormValue("username"), Problem: problem,
		Asks: i.asks(req.Client, host, req.Audience, req.Scopes),
	}, origin)
}

// asks describes what a client asks for. What a registered client says about itself is marked as such.
func (i *Issuer) asks(id, host string, audience, scopes []string) page.Asks {
	a := page.Asks{Client: id, Host: host, Audience: audience, Scopes: scopes}
	if c, ok := i.known(id); ok && c.registered != nil {
		a.Registered, a.Name, a.Publisher = true, c.registered.Name, c.registered.Host()
	}
	return a
}

// logIn serves POST /login. There is no cookie: each login needs the password, so a forged request cannot do anything.
func (i *Issuer) logIn(w http.ResponseWriter, r *http.Request) {
	id := r.PostFormValue("id")
	req, err := i.flows.Request(id)
	if err != nil {
		i.expired(w, r)
		return
	}
	if r.PostFormValue("decision") != "allow" {
		if req, err = i.flows.Cancel(id); err != nil {
			i.expired(w, r)
			return
		}
		http.Redirect(w, r, i.reply(req.Redirect, url.Values{"error": {"access_denied"}, "state": {req.State}}), http.StatusSeeOther)
		return
	}
	user, status, problem := i.check(r)
	if problem != "" {
		i.loginPage(w, r, status, req, problem)
		return
	}
	req, code, err := i.flows.Allow(id, user.Name)
	if err != nil {
		i.expired(w, r)
		return
	}
	http.Redirect(w, r, i.reply(req.Redirect, url.Values{"code": {code}, "state": {req.State}}), http.StatusSeeOther)
}

// check verifies the password of a form. The problem is "" if it is right.
func (i *Issuer) check(r *http.Request) (user account.User, status int, problem string) {
	name := r.PostFormValue("username")
	_, known := i.accounts.User(name)
	undo, ok := i.attempts.allow(peercred.Account(r.Context()), name, known)
	if !ok {
		return account.User{}, http.StatusTooManyRequests, tooMany
	}
	if user, ok = i.accounts.LogIn(name, r.PostFormValue("password")); !ok {
		i.log.WarnContext(r.Context(), "a login was refused")
		return account.User{}, http.StatusUnauthorized, wrongPassword
	}
	undo()
	return user, http.StatusOK, ""
}

// showDevice serves GET /device, with the code of a device or without.
func (i *Issuer) showDevice(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("user_code")
	if code == "" {
		i.write(w, r, http.StatusOK, page.Code{}, "")
		return
	}
	if d, ok := i.device(w, r, code); ok {
		i.devicePage(w, r, http.StatusOK, d, code, "")
	}
}

// device returns the request of a device that waits for a code. If there is none, or codes are tried too often, it has answered: codes are
// short, and must not be guessed.
func (i *Issuer) device(w http.ResponseWriter, r *http.Request, code string) (flow.Device, bool) {
	undo, ok := i.attempts.allow(peercred.Account(r.Context()), "", false)
	if !ok {
		i.write(w, r, http.StatusTooManyRequests, page.Code{Code: code, Problem: tooMany}, "")
		return flow.Device{}, false
	}
	d, err := i.flows.Device(code)
	if err != nil {
		i.write(w, r, http.StatusNotFound, unknownCode(code), "")
		return flow.Device{}, false
	}
	undo()
	return d, true
}

func unknownCode(code string) page.Code {
	return page.Code{Code: code, Problem: "No program waits for this code. It may have expired."}
}

func (i *Issuer) devicePage(w http.ResponseWriter, r *http.Request, status int, d flow.Device, code, problem string) {
	i.write(w, r, status, page.Device{
		Code: code, Username: r.PostFormValue("username"), Problem: problem,
		Asks: i.asks(d.Client, "", d.Audience, d.Scopes),
	}, "")
}

// decideDevice serves POST /device.
func (i *Issuer) decideDevice(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("user_code")
	d, ok := i.device(w, r, code)
	if !ok {
		return
	}
	allow := r.PostFormValue("decision") == "allow"
	name := ""
	if allow {
		user, status, problem := i.check(r)
		if problem != "" {
			i.devicePage(w, r, status, d, code, problem)
			return
		}
		name = user.Name
	}
	if err := i.flows.Decide(code, name, allow); err != nil {
		i.write(w, r, http.StatusNotFound, unknownCode(code), "")
		return
	}
	if !allow {
		i.message(w, r, http.StatusOK, "Refused", "The program was not logged in. You can close this page.")
		return
	}
	i.message(w, r, http.StatusOK, "Logged in", "The program acts as "+name+" now. You can close this page.")
}

func (i *Issuer) showLoggedOut(w http.ResponseWriter, r *http.Request) {
	i.message(w, r, http.StatusOK, "Logged out", "You can close this page.")
}

func serveStyle(w http.ResponseWriter, r *http.Request) { page.WriteStyle(w, r) }

// destination returns the host to show for a redirect URI, and the source that a policy of browsers needs to allow it.
func destination(redirect string) (host, source string) {
	u, err := url.Parse(redirect)
	if err != nil {
		return "", ""
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.Host, u.Scheme + "://" + u.Host
	}
	return u.Scheme, u.Scheme + ":"
}
