package httpcall

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/placeholder"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Arguments is the namespace of placeholders in templates: "${args.name}" is an argument, "${args.a.b}" a member of one.
const Arguments = "args"

// Template is a request written by hand. Each value may contain placeholders, which are escaped for their place. A query parameter, header,
// form field or member of the body whose argument is absent is left out.
type Template struct {
	// Method is an HTTP method in capitals.
	Method string `json:"method"`
	// Base is the absolute URL that Path is appended to. Path has placeholders.
	Base string `json:"base"`
	Path string `json:"path"`
	// Query, Headers and Form (application/x-www-form-urlencoded) are values by name.
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Form    map[string]string `json:"form,omitempty"`
	// Body is a JSON object. A string in it that is one placeholder becomes the argument with its type.
	Body canon.JSON `json:"body,omitempty"`
	// Text is any other body, of MediaType. Arguments are escaped in XML and HTML, and in other text inserted as they are.
	Text      string `json:"text,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	// KeyHeader is that of an Operation.
	KeyHeader string `json:"key_header,omitempty"`
	// Answers are those of an Operation.
	Answers []string `json:"answers,omitempty"`
	// GraphQL is the field of the answer's "data" that is the result, of a request to a GraphQL API; empty for other APIs. Required means
	// that it is never null without an error.
	GraphQL  string `json:"graphql,omitempty"`
	Required bool   `json:"graphql_required,omitempty"`
}

// Check calls found with the path of each placeholder. The error says what is wrong with the template.
func (t *Template) Check(found func(path string) error) error {
	texts := []string{t.Path, t.Text}
	for _, m := range []map[string]string{t.Query, t.Headers, t.Form} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			texts = append(texts, m[name])
		}
	}
	texts = append(texts, leaves(map[string]any(t.Body))...)
	for _, text := range texts {
		wrong := placeholder.Check(text, func(r placeholder.Ref) *placeholder.Error {
			if r.Namespace != Arguments {
				return placeholder.Wrong(r, "is not known here: write ${args.NAME}")
			}
			if err := found(r.Path); err != nil {
				return placeholder.Wrong(r, "%s", err)
			}
			return nil
		})
		if len(wrong) > 0 {
			return wrong[0]
		}
	}
	return nil
}

// leaves returns the strings in a JSON value.
func leaves(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, leaves(item)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[k])...)
		}
		return out
	default:
		return nil
	}
}

func (t *Template) keyHeader() string { return t.KeyHeader }

func (t *Template) read(a answer, hide func(string) string) (*turnv1.ToolResult, string) {
	if t.GraphQL != "" {
		return t.readGraphQL(a, hide)
	}
	if mistaken := a.mistaken(t.Answers); mistaken != "" {
		return nil, mistaken
	}
	return a.result(hide), ""
}

// Request implements Maker.
func (t *Template) Request(ctx context.Context, args canon.Object) (*http.Request, error) {
	path, err := t.path(args)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(t.Base + path)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("the URL %q is not valid", t.Base+t.Path)
	}
	if query := fields(t.Query, args); len(query) > 0 {
		target.RawQuery = strings.Trim(target.RawQuery+"&"+joinPairs(query, "&"), "&")
	}
	body, mediaType := t.content(args)
	var content io.Reader
	if mediaType != "" {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, t.Method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	r.Header.Set("Accept", anything)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		value, ok := fill(t.Headers[name], args)
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, wrong(firstArgument(t.Headers[name]), "this value cannot be a header: remove control characters and line breaks")
		}
		if ok {
			r.Header.Set(name, value)
		}
	}
	return r, nil
}

func (t *Template) path(args canon.Object) (string, error) {
	var failed error
	text, _ := placeholder.Resolve(t.Path, func(r placeholder.Ref) (string, *placeholder.Error) {
		v, ok := lookup(args, r.Path)
		text := scalar(v)
		switch {
		case !ok:
			failed = wrong(r.Path, "a value is required")
		case text == "", text == ".", text == "..":
			failed = wrong(r.Path, "this value cannot be a part of a path: use one that is not empty, \".\" or \"..\"")
		}
		return escape(text), nil
	})
	return text, failed
}

// content returns the body and its media type; none without one.
func (t *Template) content(args canon.Object) ([]byte, string) {
	switch {
	case t.Body != nil:
		v, _ := render(map[string]any(t.Body), args)
		return asJSON(v), mediaTypeOr(t.MediaType, "application/json")
	case t.Form != nil:
		return []byte(joinPairs(fields(t.Form, args), "&")), FormURLEncoded
	case t.Text != "":
		esc := verbatim
		if strings.Contains(t.MediaType, "xml") || strings.Contains(t.MediaType, "html") {
			esc = escapeXML
		}
		text, _ := placeholder.Resolve(t.Text, func(r placeholder.Ref) (string, *placeholder.Error) {
			v, ok := lookup(args, r.Path)
			if !ok {
				return "", nil
			}
			return esc(scalar(v)), nil
		})
		return []byte(text), mediaTypeOr(t.MediaType, "text/plain; charset=utf-8")
	default:
		return nil, ""
	}
}

func mediaTypeOr(mediaType, otherwise string) string {
	if mediaType != "" {
		return mediaType
	}
	return otherwise
}

func escapeXML(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return "" // a Builder does not fail
	}
	return b.String()
}

// fields returns the pairs of a query or form, by name.
func fields(templates map[string]string, args canon.Object) []pair {
	var out []pair
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		if path, ok := whole(templates[name]); ok {
			if v, ok := lookup(args, path); ok {
				out = append(out, Parameter{Name: name, Style: Form, Explode: true}.listed(v)...)
			}
			continue
		}
		if value, ok := fill(templates[name], args); ok {
			out = append(out, pair{escape(name), escape(value)})
		}
	}
	return out
}

// listed is pairs for a value of a template: an array repeats the name, and an object is JSON.
func (p Parameter) listed(v any) []pair {
	if _, ok := v.(map[string]any); ok {
		p.Style = ""
	}
	return p.pairs(v)
}

// fill inserts arguments into a text; false if one is absent.
func fill(template string, args canon.Object) (string, bool) {
	complete := true
	text, _ := placeholder.Resolve(template, func(r placeholder.Ref) (string, *placeholder.Error) {
		v, ok := lookup(args, r.Path)
		complete = complete && ok
		return scalar(v), nil
	})
	return text, complete
}

var wholePlaceholder = regexp.MustCompile(`^\$\{args\.([^\s{}$]+)\}$`)

// whole returns the path of a text that is one placeholder.
func whole(text string) (string, bool) {
	m := wholePlaceholder.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// render inserts arguments into a JSON value; false if it is a text whose argument is absent.
func render(v any, args canon.Object) (any, bool) {
	switch v := v.(type) {
	case string:
		if path, ok := whole(v); ok {
			return lookup(args, path)
		}
		return fill(v, args)
	case []any:
		out := []any{}
		for _, item := range v {
			if filled, ok := render(item, args); ok {
				out = append(out, filled)
			}
		}
		return out, true
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if filled, ok := render(item, args); ok {
				out[k] = filled
			}
		}
		return out, true
	default:
		return v, true
	}
}

// lookup returns the argument at a path; false if there is none.
func lookup(args canon.Object, path string) (any, bool) {
	var v any = map[string]any(args)
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// firstArgument is the path of the first placeholder, for messages.
func firstArgument(template string) string {
	_, after, _ := strings.Cut(template, "${"+Arguments+".")
	path, _, _ := strings.Cut(after, "}")
	return path
}
