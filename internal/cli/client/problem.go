package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// problem reads the error in a response.
func problem(resp *http.Response, body []byte) *fault.Error {
	var p fault.Problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return fault.New(code(resp.StatusCode), faultv1.Reason_REASON_UNSPECIFIED, "the server answered %s", resp.Status).
			Hint("That is no answer of Windlass: check the address in --server or WINDLASS_SERVER.")
	}
	p.Status = resp.StatusCode
	e := problemError(p)
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.Retry = time.Duration(s) * time.Second
	}
	return e
}

// problemError is the inverse of fault.ToProblem.
func problemError(p fault.Problem) *fault.Error {
	reason := faultv1.Reason(faultv1.Reason_value["REASON_"+strings.ToUpper(p.Code)])
	detail := p.Detail
	if detail == "" {
		detail = p.Title
	}
	e := fault.New(code(p.Status), reason, "%s", detail)
	e.Todo = p.Todo
	for _, f := range p.Fields {
		e.Fields = append(e.Fields, fault.Field{Path: f.Field, Message: f.Message})
	}
	return e
}

// code maps an HTTP status back to the code that it most likely came from.
func code(status int) codes.Code {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusConflict:
		return codes.FailedPrecondition
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return codes.Unimplemented
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return codes.Unavailable
	default:
		return codes.Internal
	}
}
