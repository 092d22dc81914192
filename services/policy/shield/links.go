package shield

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A URL with a scheme, in the forms that browsers accept, or one without in a link or an image of Markdown or HTML.
var (
	withScheme = regexp.MustCompile("(?i)\\b(?:https?:[/\\\\]*|[a-z][a-z0-9+.-]{1,30}://)[^\\s<>\"'`)\\]]+")
	inMarkup   = regexp.MustCompile("(?i)(?:\\]\\(\\s*<?|\\b(?:src|href)\\s*=\\s*[\"']?)(//[^\\s<>\"'`)\\]]+)")
)

// links finds URLs whose host is not in the list: a name, or "*.example.org" for all names below one.
func links(hosts []string) detector {
	allowed := func(host string) bool {
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		return slices.ContainsFunc(hosts, func(h string) bool {
			parent, below := strings.CutPrefix(h, "*")
			return host == h || below && len(host) > len(parent) && strings.HasSuffix(host, parent)
		})
	}
	return func(text string) []finding {
		var out []finding
		add := func(from, to int) {
			raw := strings.TrimRight(text[from:to], ".,;:!?")
			host, isURL := hostOf(raw)
			if isURL && !allowed(host) {
				out = append(out, finding{from: from, to: from + len(raw), category: "url"})
			}
		}
		if !strings.Contains(text, ":") && !strings.Contains(text, "//") {
			return nil
		}
		for _, m := range withScheme.FindAllStringIndex(text, -1) {
			add(m[0], m[1])
		}
		for _, m := range inMarkup.FindAllStringSubmatchIndex(text, -1) {
			add(m[2], m[3])
		}
		return out
	}
}

// hostOf returns the host of a URL as a browser reads it; "" if it has none or cannot be parsed. It reports false for a text that only
// begins like a URL.
func hostOf(raw string) (string, bool) {
	scheme, rest, found := strings.Cut(raw, ":")
	if strings.HasPrefix(raw, "//") {
		scheme, rest, found = "https", raw, true
	}
	if !found {
		return "", false
	}
	rest = strings.ReplaceAll(rest, `\`, "/")
	bare := strings.TrimLeft(rest, "/")
	if rest == bare && !strings.Contains(bare, ".") || bare == "" { // "http:404"
		return "", false
	}
	u, err := url.Parse(strings.ToLower(scheme) + "://" + bare)
	if err != nil {
		return "", true
	}
	return u.Hostname(), true
}

// longer finds what goes beyond a number of bytes, and does not cut a character in two.
func longer(limit int) detector {
	return func(text string) []finding {
		if len(text) <= limit {
			return nil
		}
		from := limit
		for from > 0 && text[from]&0xC0 == 0x80 {
			from--
		}
		return []finding{{from: from, to: len(text), category: "size"}}
	}
}
