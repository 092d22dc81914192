package httpcall

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
)

// pair is one name=value of a query, a form or a cookie, escaped.
type pair struct{ name, value string }

func (p pair) String() string { return p.name + "=" + p.value }

// scalar returns a value as text: strings and numbers as they are, arrays and objects as JSON.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return string(asJSON(v))
	}
}

func asJSON(v any) []byte { return canon.AppendValue(nil, v, json.Number.String) }

// escaper escapes one name or value.
type escaper func(string) string

// unreserved are the characters that are never escaped (RFC 3986, section 2.3).
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// escape percent-encodes everything except unreserved characters.
func escape(s string) string { return escapeExcept(s, "") }

// escapeReserved also leaves those reserved characters that do not delimit the parts of a query.
func escapeReserved(s string) string { return escapeExcept(s, ":/?@!$'()*,;") }

func verbatim(s string) string { return s }

func escapeExcept(s, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// members returns an object's members as pairs, by name.
func members(o map[string]any, esc escaper) []pair {
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if o[k] != nil {
			out = append(out, pair{esc(k), esc(scalar(o[k]))})
		}
	}
	return out
}

func items(list []any, esc escaper) []string {
	var out []string
	for _, v := range list {
		if v != nil {
			out = append(out, esc(scalar(v)))
		}
	}
	return out
}

// flat returns an object's members as name, value, name, value.
func flat(o map[string]any, esc escaper) []string {
	var out []string
	for _, p := range members(o, esc) {
		out = append(out, p.name, p.value)
	}
	return out
}

func joinPairs(pairs []pair, by string) string {
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.String()
	}
	return strings.Join(texts, by)
}

// segment returns the value of a path or header parameter.
func (p Parameter) segment(v any, esc escaper) string {
	if p.Style == "" {
		return esc(string(asJSON(v)))
	}
	prefix, between := "", ","
	if p.Style == Label {
		prefix = "."
		if p.Explode {
			between = "."
		}
	}
	switch v := v.(type) {
	case []any:
		return prefix + strings.Join(items(v, esc), between)
	case map[string]any:
		if p.Explode {
			return prefix + joinPairs(members(v, esc), between)
		}
		return prefix + strings.Join(flat(v, esc), between)
	default:
		return prefix + esc(scalar(v))
	}
}

// matrix returns the value of a path parameter with the style matrix: ";name=value".
func (p Parameter) matrix(v any) string {
	name := escape(p.Name)
	var pairs []pair
	switch v := v.(type) {
	case []any:
		if !p.Explode {
			pairs = []pair{{name, strings.Join(items(v, escape), ",")}}
			break
		}
		for _, item := range items(v, escape) {
			pairs = append(pairs, pair{name, item})
		}
	case map[string]any:
		if pairs = members(v, escape); !p.Explode {
			pairs = []pair{{name, strings.Join(flat(v, escape), ",")}}
		}
	default:
		text := scalar(v)
		if text == "" {
			return ";" + name
		}
		pairs = []pair{{name, escape(text)}}
	}
	var b strings.Builder
	for _, p := range pairs {
		b.WriteString(";" + p.String())
	}
	return b.String()
}

// pairs returns the pairs of a query, cookie or form parameter. Absent and null values have none.
func (p Parameter) pairs(v any) []pair {
	esc := escaper(escape)
	if p.Reserved {
		esc = escapeReserved
	}
	name := escape(p.Name)
	if p.Style == "" {
		return []pair{{name, esc(string(asJSON(v)))}}
	}
	between := map[string]string{SpaceDelimited: "%20", PipeDelimited: "%7C"}[p.Style]
	if between == "" {
		between = ","
	}
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		all := items(v, esc)
		if len(all) == 0 {
			return nil
		}
		if !p.Explode && p.Style != DeepObject {
			return []pair{{name, strings.Join(all, between)}}
		}
		out := make([]pair, len(all))
		for i, item := range all {
			out[i] = pair{name, item}
		}
		return out
	case map[string]any:
		switch {
		case p.Style == DeepObject:
			return deep(name, v, esc)
		case p.Explode:
			return members(v, esc)
		case len(v) == 0:
			return nil
		}
		return []pair{{name, strings.Join(flat(v, esc), between)}}
	default:
		return []pair{{name, esc(scalar(v))}}
	}
}

// deep writes an object as name[member]=value. The specification leaves nested values open: objects are written as name[a][b]=value, and
// arrays repeat the name.
func deep(name string, o map[string]any, esc escaper) []pair {
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(o)) {
		inner := name + "%5B" + escape(k) + "%5D"
		switch v := o[k].(type) {
		case nil:
		case map[string]any:
			out = append(out, deep(inner, v, esc)...)
		case []any:
			for _, item := range items(v, esc) {
				out = append(out, pair{inner, item})
			}
		default:
			out = append(out, pair{inner, esc(scalar(v))})
		}
	}
	return out
}
