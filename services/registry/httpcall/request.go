package httpcall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/canon"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ArgumentError is an argument that fits the schema and still cannot be sent.
type ArgumentError struct {
	// Argument is its name, and Message what is wrong.
	Argument, Message string
}

// Error names the argument.
func (e *ArgumentError) Error() string { return "arguments/" + e.Argument + ": " + e.Message }

func wrong(argument, format string, args ...any) error {
	return &ArgumentError{Argument: argument, Message: fmt.Sprintf(format, args...)}
}

// Maker makes the request of a call: an Operation or a Template.
type Maker interface {
	// Request returns the request for the arguments, without credentials. Its body can be read again. The error is an *ArgumentError if the
	// arguments are to blame.
	Request(ctx context.Context, args canon.Object) (*http.Request, error)
	// keyHeader is the header for the key of a call; empty = none.
	keyHeader() string
	// read returns the result of an answer. mistaken says what came instead of the answer of the operation; empty if it is one.
	read(a answer, hide func(string) string) (result *turnv1.ToolResult, mistaken string)
}

// anything is the Accept header of operations that do not say what they answer.
const anything = "application/json, */*;q=0.5"

func (o *Operation) keyHeader() string { return o.KeyHeader }

func (o *Operation) read(a answer, hide func(string) string) (*turnv1.ToolResult, string) {
	if mistaken := a.mistaken(o.Answers); mistaken != "" {
		return nil, mistaken
	}
	return a.result(hide), ""
}

// Request implements Maker.
func (o *Operation) Request(ctx context.Context, args canon.Object) (*http.Request, error) {
	target, err := o.target(args)
	if err != nil {
		return nil, err
	}
	body, mediaType, err := o.body(args)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, o.Method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	r.Header.Set("Accept", anything)
	if o.Accept != "" {
		r.Header.Set("Accept", o.Accept)
	}
	return r, o.headers(r, args)
}

// target returns the URL with path and query.
func (o *Operation) target(args canon.Object) (*url.URL, error) {
	path, err := o.path(args)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(path)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("the operation's URL %q is not valid", o.URL)
	}
	var query []string
	if target.RawQuery != "" { // the document's own
		query = append(query, target.RawQuery)
	}
	for _, p := range o.Parameters {
		if v, ok := p.value(args); ok && p.In == InQuery {
			for _, q := range p.pairs(v) {
				query = append(query, q.String())
			}
		}
	}
	target.RawQuery = strings.Join(query, "&")
	return target, nil
}

// value returns a parameter's value; false if there is none.
func (p Parameter) value(args canon.Object) (any, bool) {
	v, ok := args[p.Argument]
	switch {
	case ok && v != nil:
		return v, true
	case p.Value != "":
		return p.Value, true
	default:
		return nil, false
	}
}

var variable = regexp.MustCompile(`\{([^{}]+)\}`)

// path fills the URL's placeholders. A value must not make the path another one: "." and ".." are refused, and an empty segment too.
func (o *Operation) path(args canon.Object) (string, error) {
	var failed error
	fail := func(argument, message string) string {
		failed = wrong(argument, "%s", message)
		return ""
	}
	out := variable.ReplaceAllStringFunc(o.URL, func(placeholder string) string {
		name := placeholder[1 : len(placeholder)-1]
		for _, p := range o.Parameters {
			if p.In != InPath || p.Name != name {
				continue
			}
			v, ok := p.value(args)
			if !ok {
				return fail(p.Argument, "a value is required")
			}
			var text string
			if p.Style == Matrix {
				text = p.matrix(v)
			} else {
				text = p.segment(v, escape)
			}
			switch text {
			case "", ".", "..":
				return fail(p.Argument, "this value cannot be a part of a path: use one that is not empty, \".\" or \"..\"")
			}
			return text
		}
		failed = fmt.Errorf("the operation's URL %q has a placeholder without parameter", o.URL)
		return ""
	})
	return out, failed
}

// headers adds header and cookie parameters.
func (o *Operation) headers(r *http.Request, args canon.Object) error {
	var cookies []string
	for _, p := range o.Parameters {
		v, ok := p.value(args)
		if !ok {
			continue
		}
		switch p.In {
		case InHeader:
			text := p.segment(v, verbatim)
			if !httpguts.ValidHeaderFieldValue(text) {
				return wrong(p.Argument, "this value cannot be a header: remove control characters and line breaks")
			}
			r.Header.Set(p.Name, text)
		case InCookie:
			for _, c := range p.pairs(v) {
				cookies = append(cookies, c.String())
			}
		}
	}
	if len(cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return nil
}
