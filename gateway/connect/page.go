package connect

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

// consent is the page that asks the user.
type consent struct {
	Subject, Tenant, Source, Destination, Host, Ticket, Consent, Until string
	Scopes                                                             []string
}

// message is a page without a form.
type message struct{ Title, Text, Hint string }

// write renders a page. leadsTo is where its form may lead besides this site: browsers check redirects of forms.
func write(w http.ResponseWriter, status int, content any, leadsTo string) error {
	name := "message"
	if _, ok := content.(consent); ok {
		name = "consent"
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, content); err != nil {
		return fmt.Errorf("render page %q: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self' "+leadsTo+
		"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with less, browsers do not say where the form is from
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}
