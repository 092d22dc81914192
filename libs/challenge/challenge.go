// Package challenge reads why a server refuses an HTTP request, and what it wants (RFC 9110, RFC 6750).
package challenge

import (
	"net/http"
	"slices"
	"strings"
)

const (
	// MaxScopes is how many scopes are read, maxScope the length of one, and maxText that of all.
	MaxScopes = 64
	maxScope  = 256
	maxText   = 4 << 10
)

// Insufficient returns the scopes that a response wants because those of the token do not suffice; false if that is not why it refuses. The
// request was not applied then: what checks tokens has refused it.
func Insufficient(res *http.Response) (scopes []string, ok bool) {
	if res.StatusCode != http.StatusForbidden {
		return nil, false
	}
	p := Bearer(res.Header)
	if p["error"] != "insufficient_scope" {
		return nil, false
	}
	return Scopes(p["scope"]), true
}

// Unauthenticated reports whether a response of status 401 says how to authenticate with a token. Then it is from what checks credentials,
// and the request was not applied (RFC 9110, section 15.5.2).
func Unauthenticated(res *http.Response) bool {
	if res.StatusCode != http.StatusUnauthorized {
		return false
	}
	for _, text := range res.Header.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.EqualFold(scheme, "Bearer") {
			return true
		}
	}
	return false
}

// Scopes reads a list of scopes. What is none (RFC 6749, section 3.3), or more than a person can consent to, is left out.
func Scopes(text string) []string {
	var out []string
	size := 0
	for scope := range strings.FieldsSeq(text) {
		if len(scope) > maxScope || strings.ContainsFunc(scope, foreign) || slices.Contains(out, scope) {
			continue
		}
		if size += len(scope) + 1; len(out) == MaxScopes || size > maxText {
			break
		}
		out = append(out, scope)
	}
	return out
}

// foreign reports whether a scope cannot have a character.
func foreign(r rune) bool { return r < '!' || r > '~' || r == '"' || r == '\\' }

// Bearer returns the parameters of the first Bearer challenge (RFC 9110, section 11.6.1); names are in lower case. A malformed parameter
// ends it.
func Bearer(h http.Header) map[string]string {
	out := map[string]string{}
	for _, text := range h.Values("WWW-Authenticate") {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		for rest = strings.TrimLeft(rest, " ,"); rest != ""; rest = strings.TrimLeft(rest, " ,") {
			name, after, ok := strings.Cut(rest, "=")
			name = strings.ToLower(strings.TrimSpace(name))
			if !ok || name == "" || strings.ContainsAny(name, " \t\"") {
				break
			}
			var value string
			if value, rest, ok = parameter(strings.TrimLeft(after, " ")); !ok {
				break
			}
			if _, seen := out[name]; !seen {
				out[name] = value
			}
		}
		return out
	}
	return out
}

// parameter reads a token or a quoted string.
func parameter(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", ")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
