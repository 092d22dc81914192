package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// onError responds to a request that failed in generated code or upstream.
func (a *API) onError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	pattern, _ := runtime.HTTPPattern(r.Context())
	route := a.routes.byKey[r.Method+" "+plainPattern(pattern.String())]
	if fromRuntime(err) && route.Input != nil {
		err = explain(r, route, err)
	}
	e := fault.From(err)
	if e.Code == codes.Internal && e.Unwrap() != nil && !errors.Is(err, context.Canceled) {
		a.deps.Log.ErrorContext(r.Context(), "request failed", "route", route.Pattern, "error", err)
	}
	if e.Reason == faultv1.Reason_REASON_CONFLICT && r.Header.Get(ifMatchHeader) != "" {
		problem.WriteStatus(w, r, http.StatusPreconditionFailed, asWritten(e, route))
		return
	}
	problem.Write(w, r, asWritten(e, route))
}

// fromRuntime reports whether generated code or the runtime created the error: a plain status without our details.
func fromRuntime(err error) bool {
	st, ok := status.FromError(err)
	return ok && fault.As(err) == nil && st.Code() == codes.InvalidArgument && len(st.Details()) == 0
}

// explain finds out why the runtime rejected a request.
func explain(r *http.Request, route Route, err error) error {
	if b, ok := r.Body.(*body); ok && len(b.data) > 0 {
		if e := codec.Explain(b.data, route.bodyMessage()); e != nil {
			return e.Cause(err)
		}
	}
	for name, values := range r.URL.Query() {
		m := dynamicpb.NewMessage(route.Input)
		none := utilities.NewDoubleArray(nil)
		if perr := runtime.PopulateQueryParameters(m, map[string][]string{name: values}, none); perr != nil {
			fd := route.query(name)
			if fd != nil && len(values) > 1 && !fd.IsList() {
				return fault.Invalid(name, "is given twice").Cause(err)
			}
			return fault.Invalid(name, "%s", codec.Expected(fd)).Cause(err)
		}
	}
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_ARGUMENT, "%s", status.Convert(err).Message())
}

// asWritten names fields as the caller wrote them: if the body is one field of the request, that field's name is dropped.
func asWritten(e *fault.Error, route Route) *fault.Error {
	if route.Body == "" || route.Body == "*" || len(e.Fields) == 0 {
		return e
	}
	cut := func(s string) string { return strings.TrimPrefix(s, route.Body+".") }
	out := *e
	out.Fields = slices.Clone(e.Fields)
	before, after := make([]string, len(e.Fields)), make([]string, len(e.Fields))
	for i, f := range e.Fields {
		out.Fields[i].Path = cut(f.Path)
		before[i], after[i] = f.Path+": "+f.Message, cut(f.Path)+": "+f.Message
	}
	if e.Message == strings.Join(before, "; ") {
		out.Message = strings.Join(after, "; ")
	}
	return &out
}

// onRoutingError responds to a request that matches no route.
func (a *API) onRoutingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request,
	code int,
) {
	switch code {
	case http.StatusMethodNotAllowed:
		problem.MethodNotAllowed(w, r, a.allowed(r.URL.Path)...)
	case http.StatusBadRequest:
		problem.Write(w, r, fault.Invalid("path", "is malformed"))
	default:
		problem.NotFound(w, r)
	}
}

// allowed lists the methods that are served at a path.
func (a *API) allowed(path string) []string {
	var out []string
	for _, r := range a.routes.byKey {
		if matches(r.Pattern, path) && !slices.Contains(out, r.Method) {
			out = append(out, r.Method)
		}
	}
	for _, e := range a.custom {
		if matches(e.pattern, path) && !slices.Contains(out, e.method) {
			out = append(out, e.method)
		}
	}
	if a.IsStream(path) {
		out = append(out, http.MethodGet)
	} else if slices.Contains(out, http.MethodGet) && !slices.Contains(out, http.MethodHead) {
		out = append(out, http.MethodHead)
	}
	slices.Sort(out)
	return out
}

func matches(pattern, path string) bool {
	ps, ss := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(ps) != len(ss) {
		return false
	}
	for i, p := range ps {
		s := ss[i]
		if !strings.HasPrefix(p, "{") {
			if p != s {
				return false
			}
			continue
		}
		_, verb, _ := strings.Cut(p, "}")
		if s == verb || !strings.HasSuffix(s, verb) {
			return false
		}
	}
	return true
}
