// Package problem writes errors to HTTP callers as RFC 9457 problems.
package problem

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/telemetry"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Challenge is the header that says which credentials a refused request needs. Who knows more than "Bearer" sets it before Write.
const Challenge = "WWW-Authenticate"

// Of returns the problem that represents an error of this request.
func Of(r *http.Request, err error) fault.Problem {
	p := fault.ToProblem(err, r.URL.Path)
	p.Instance = strings.ToValidUTF8(p.Instance, "\uFFFD")
	if p.Title == "" {
		p.Title = "Client Closed Request" // 499 is not a standard status
	}
	p.TraceID, p.RequestID = telemetry.TraceID(r.Context()), telemetry.RequestID(r.Context())
	return p
}

// Write responds with the problem for an error. Nothing may have been written before.
func Write(w http.ResponseWriter, r *http.Request, err error) { write(w, Of(r, err), err) }

// WriteStatus is Write with another HTTP status than that of the error.
func WriteStatus(w http.ResponseWriter, r *http.Request, status int, err error) {
	p := Of(r, err)
	p.Status, p.Title = status, http.StatusText(status)
	write(w, p, err)
}

func write(w http.ResponseWriter, p fault.Problem, err error) {
	h := w.Header()
	h.Set("Content-Type", fault.ProblemType)
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	h.Del("Trailer")
	h.Del("Transfer-Encoding")
	wait := fault.From(err).Retry
	if wait <= 0 && p.Status == http.StatusServiceUnavailable {
		wait = time.Second // an unavailable service may be back soon
	}
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(float64(wait)/float64(time.Second)))))
	}
	if p.Status == http.StatusUnauthorized && h.Get(Challenge) == "" {
		h.Set(Challenge, "Bearer")
	}
	body, merr := json.Marshal(p)
	if merr != nil {
		body = []byte(`{"status":500,"code":"internal"}`) // strings and numbers always encode
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

// NotFound responds that nothing is served at the request's path.
func NotFound(w http.ResponseWriter, r *http.Request) {
	Write(w, r, fault.NotFound("nothing is served at this path").Hint("GET /openapi.json lists what is."))
}

// MethodNotAllowed responds with the methods that are served at the request's path.
func MethodNotAllowed(w http.ResponseWriter, r *http.Request, allow ...string) {
	list := strings.Join(allow, ", ")
	w.Header().Set("Allow", list)
	Write(w, r, fault.New(codes.Unimplemented, faultv1.Reason_REASON_METHOD_NOT_ALLOWED, "%s is not served at this path", r.Method).
		Hint("Use %s.", list))
}
