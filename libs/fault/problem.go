package fault

import (
	"net/http"

	"google.golang.org/grpc/codes"
)

// ProblemType is the media type of Problem.
const ProblemType = "application/problem+json"

// Problem is an RFC 9457 problem, the body of every HTTP error response.
type Problem struct {
	// Type is a URI for the kind of problem: "urn:windlass:problem:" and the code.
	Type string `json:"type"`
	// Title is a short text for the kind of problem.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail says what happened in this case.
	Detail string `json:"detail"`
	// Instance is the path of the request.
	Instance string `json:"instance,omitempty"`
	// Code is stable and meant for programs: a windlass.fault.v1.Reason in lower case.
	Code string `json:"code"`
	// Todo says what to do next.
	Todo string `json:"todo,omitempty"`
	// Fields lists the wrong fields.
	Fields []ProblemField `json:"fields,omitempty"`
	// TraceID is the request's id in traces and logs.
	TraceID string `json:"trace_id,omitempty"`
	// RequestID is the id in the header X-Request-Id of the response, and in logs.
	RequestID string `json:"request_id,omitempty"`
}

// ProblemField is one invalid field.
type ProblemField struct {
	// Field is its path.
	Field string `json:"field"`
	// Message says what is wrong.
	Message string `json:"message"`
}

// ToProblem returns the HTTP form of an error.
func ToProblem(err error, instance string) Problem {
	e := From(err)
	if e.Code == codes.Internal {
		e = Internal(nil)
	}
	code := CodeName(e.Reason)
	p := Problem{
		Type: "urn:windlass:problem:" + code, Title: http.StatusText(HTTPStatus(e)), Status: HTTPStatus(e),
		Detail: e.Message, Instance: instance, Code: code, Todo: e.Todo,
	}
	for _, f := range e.Fields {
		p.Fields = append(p.Fields, ProblemField{Field: f.Path, Message: f.Message})
	}
	return p
}

// HTTPStatus maps an error to an HTTP status by google.rpc.Code's table, with 405, 413 and 415 for specific reasons.
func HTTPStatus(e *Error) int {
	switch CodeName(e.Reason) {
	case "too_large":
		return http.StatusRequestEntityTooLarge
	case "response_too_large":
		return http.StatusInternalServerError
	case "method_not_allowed":
		return http.StatusMethodNotAllowed
	case "unsupported_media_type":
		return http.StatusUnsupportedMediaType
	}
	switch e.Code {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499 // client closed request
	case codes.InvalidArgument, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.FailedPrecondition, codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	case codes.NotFound:
		return http.StatusNotFound
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
