package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// bodyTimeout is how long a caller may take to send a body.
const bodyTimeout = 30 * time.Second

// body is a request body that was read completely. The error handler reads it again to explain errors.
type body struct {
	*bytes.Reader
	data []byte
}

func (b *body) Close() error { return nil }

// prepare wraps each generated handler and validates the request before anything is decoded.
func (a *API) prepare(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, vars map[string]string) {
		pattern, _ := runtime.HTTPPattern(r.Context())
		name := plainPattern(pattern.String())
		a.deps.Matched(r.Context(), name)
		for _, v := range vars {
			if v == "" {
				problem.NotFound(w, r)
				return
			}
		}
		if form := a.form(r, name); form != nil {
			form(w, r, vars)
			return
		}
		route, ok := a.routes.byKey[r.Method+" "+name]
		if !ok {
			next(w, r, vars) // added by HandlePath: it checks the request itself
			return
		}
		ctx, cancel, err := a.admit(w, r, route, vars)
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		defer cancel()
		if a.follow != nil && canFollow(route.RPC) && wantsEvents(r.Header) {
			ctx = context.WithValue(ctx, followedKey{}, true)
			a.serveFollowed(w, r, func(w http.ResponseWriter, resumes bool) { next(w, r.WithContext(withResumes(ctx, resumes)), vars) })
			return
		}
		next(unlessKnown(w, r), r.WithContext(ctx), vars)
	}
}

// admit checks query, body and headers, replaces the body by the bytes read, and sets the call's timeout.
func (a *API) admit(w http.ResponseWriter, r *http.Request, route Route, vars map[string]string) (
	context.Context, context.CancelFunc, error,
) {
	values, err := checkQuery(r.URL, route)
	if err != nil {
		return nil, nil, err
	}
	if expandEnums(values, route) {
		r.URL.RawQuery = values.Encode()
	}
	timeout, err := a.timeout(r.Header)
	if err != nil {
		return nil, nil, err
	}
	key, err := idempotencyKey(r.Header, route)
	if err != nil {
		return nil, nil, err
	}
	ctx, err := withIfMatch(r.Context(), r.Header, route)
	if err != nil {
		return nil, nil, err
	}
	if route.Body != "" {
		data, err := a.readBody(w, r)
		if err == nil && takesInput(route.RPC) {
			data = withContent(data)
			r.Body = &body{Reader: bytes.NewReader(data), data: data}
		}
		if err == nil {
			err = checkPath(data, route, vars)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(withKey(ctx, key), timeout)
	return ctx, cancel, nil
}

// timeout returns how long the call may take: the default, or Grpc-Timeout up to the maximum.
func (a *API) timeout(h http.Header) (time.Duration, error) {
	text := h.Get("Grpc-Timeout")
	if text == "" {
		return a.deps.Timeout, nil
	}
	h.Del("Grpc-Timeout") // the runtime would apply it again, without our maximum
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}
	last := len(text) - 1
	n, err := strconv.ParseUint(text[:last], 10, 32)
	unit, ok := units[text[last]]
	if err != nil || !ok || len(text) > 9 {
		return 0, fault.Invalid("Grpc-Timeout", "must be at most 8 digits and one of H, M, S, m, u, n: 30S is thirty seconds")
	}
	return min(time.Duration(min(n, uint64(a.deps.MaxTimeout/unit)+1))*unit, a.deps.MaxTimeout), nil
}

// expandEnums replaces short names of enum values by those that the runtime reads, and drops empty ones. It reports whether there were any.
func expandEnums(values url.Values, route Route) (changed bool) {
	for name, list := range values {
		fd := route.query(name)
		if fd == nil || fd.Enum() == nil {
			continue
		}
		changed = true
		for i, v := range list {
			list[i] = enum.Full(fd.Enum(), v)
		}
		if values[name] = slices.DeleteFunc(list, func(v string) bool { return v == "" }); len(values[name]) == 0 {
			delete(values, name)
		}
	}
	return changed
}

// checkQuery parses the query and rejects parameters that the route does not have.
func checkQuery(u *url.URL, route Route) (url.Values, error) {
	values, err := Query(u)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range values {
			if !yield(name) {
				return
			}
		}
	}) {
		if route.query(name) == nil {
			return nil, UnknownParameter(name, route.queryNames())
		}
	}
	return values, nil
}

// Query parses a URL's query string strictly.
func Query(u *url.URL) (url.Values, error) {
	if u.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fault.Invalid("query", "the query string is malformed").Cause(err)
	}
	for name, list := range values {
		for _, v := range append(list, name) {
			if !utf8.ValidString(v) {
				return nil, fault.Invalid(strings.ToValidUTF8(name, "\uFFFD"), "is not valid UTF-8")
			}
		}
	}
	return values, nil
}

// UnknownParameter returns the error for an unknown query parameter.
func UnknownParameter(name string, known []string) *fault.Error {
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNKNOWN_FIELD, "%s: there is no such query parameter", name)
	e.Fields = []fault.Field{{Path: name, Message: "there is no such query parameter"}}
	if len(known) == 0 {
		return e.Hint("This path takes none.")
	}
	return e.Hint("There are: %s.", strings.Join(known, ", "))
}
