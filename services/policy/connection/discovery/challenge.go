package discovery

import (
	"net/http"
	"strings"
)

// Challenge returns the parameters of the first Bearer challenge (RFC 9110, section 11.6.1); names are in lower case. A malformed parameter
// ends it.
func Challenge(h http.Header) map[string]string {
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
