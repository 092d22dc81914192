// Package page renders the pages of the built-in issuer. They need no scripts.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
)

//go:embed page.html style.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "page.html"))

// Login is the page on which a user logs in for a client.
type Login struct {
	ID       string
	Username string
	Problem  string
	Asks
}

// Device is the page on which a user lets a device log in.
type Device struct {
	Code     string
	Username string
	Problem  string
	Asks
}

// Asks is what a client asks for.
type Asks struct {
	Client   string
	Host     string
	Audience []string
	Scopes   []string
	// Registered reports that the client has registered itself, under a Name of its choice, which may be "". Publisher is the host of the
	// document about it, or "" if nobody but itself says what it is.
	Registered      bool
	Name, Publisher string
}

// Code is the page that asks for the code of a device.
type Code struct{ Code, Problem string }

// Message is a page without a form.
type Message struct{ Title, Text string }

// Write renders a page. returnTo is where its form may lead besides this site: browsers check redirects of forms.
func Write(w http.ResponseWriter, status int, content any, returnTo string) error {
	name := ""
	switch content.(type) {
	case Login:
		name = "login"
	case Device:
		name = "device"
	case Code:
		name = "code"
	case Message:
		name = "message"
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, content); err != nil {
		return fmt.Errorf("render page %q: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self' "+returnTo+
		"; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// WriteStyle serves the style sheet.
func WriteStyle(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "style.css") }
