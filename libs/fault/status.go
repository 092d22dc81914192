package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// todo is the key of Error.Todo in the metadata of an ErrorInfo.
const todo = "todo"

// Status maps an error to a gRPC status; it is the only such mapping. Our errors keep code, reason and texts; a context error becomes
// CANCELLED or DEADLINE_EXCEEDED; a status from another service of the mesh passes through; anything else is an internal error with a fixed
// text.
func Status(err error) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	// A status from another service of the mesh is already in its final form.
	if st := remote(err); st != nil && As(err) == nil {
		return st
	}
	return classify(err).status(outerText(err))
}

// classify returns the *Error that represents err.
func classify(err error) *Error {
	if e := As(err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled").Cause(err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "the call took too long").
			Hint("Try again with a longer deadline.").Cause(err)
	}
	if st, ok := status.FromError(err); ok {
		if e := transport(st, err); e != nil {
			return e
		}
	}
	return Internal(err)
}

// remote returns the status that another service of the mesh returned, or nil if err holds none. Text wrapped around it is dropped: it
// would repeat the status line.
func remote(err error) *status.Status {
	var holder interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &holder) {
		return nil
	}
	if st := holder.GRPCStatus(); st != nil && hasInfo(st) {
		return st
	}
	return nil
}

// transport maps a status that gRPC itself created (connection refused, deadline) rather than one of our services.
func transport(st *status.Status, err error) *Error {
	switch st.Code() {
	case codes.Canceled:
		return New(codes.Canceled, faultv1.Reason_REASON_CANCELLED, "the call was cancelled").Cause(err)
	case codes.DeadlineExceeded:
		return New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "the call took too long").Cause(err)
	case codes.Unavailable:
		return Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "a part of the mesh cannot be reached").Cause(err)
	case codes.ResourceExhausted:
		return New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE, "the message is too large").
			Hint("Send less in one request.").Cause(err)
	case codes.Unimplemented:
		return New(codes.Unimplemented, faultv1.Reason_REASON_UNIMPLEMENTED, "this method is not served").Cause(err)
	default:
		return nil
	}
}

// Adopt adds our reason to a status of a service that gRPC itself provides (health, reflection). Code and text stay.
func Adopt(err error) error {
	st, ok := status.FromError(err)
	if !ok || As(err) != nil || hasInfo(st) {
		return err
	}
	reasons := map[codes.Code]faultv1.Reason{
		codes.Canceled: faultv1.Reason_REASON_CANCELLED, codes.InvalidArgument: faultv1.Reason_REASON_INVALID_ARGUMENT,
		codes.DeadlineExceeded: faultv1.Reason_REASON_DEADLINE_EXCEEDED, codes.NotFound: faultv1.Reason_REASON_NOT_FOUND,
		codes.ResourceExhausted: faultv1.Reason_REASON_RATE_LIMITED, codes.Unimplemented: faultv1.Reason_REASON_UNIMPLEMENTED,
		codes.Unavailable: faultv1.Reason_REASON_UNAVAILABLE,
	}
	reason, ok := reasons[st.Code()]
	if !ok {
		return err
	}
	return New(st.Code(), reason, "%s", st.Message()).Cause(err)
}

// outerText returns the text that domain code wrapped around our error ("agent \"x\"") without the error's own text. Text after our error
// may come from a driver and belongs in the log.
func outerText(err error) string {
	e := As(err)
	if e == nil {
		return ""
	}
	outer, ok := strings.CutSuffix(err.Error(), e.Error())
	if !ok {
		return ""
	}
	return strings.TrimSuffix(outer, ": ")
}

func (e *Error) status(outer string) *status.Status {
	msg := e.Message
	if outer != "" && e.Code != codes.Internal {
		msg = outer + ": " + msg
	}
	st := status.New(e.Code, msg)
	info := &errdetails.ErrorInfo{
		Domain: Domain, Reason: strings.TrimPrefix(e.Reason.String(), "REASON_"), Metadata: maps.Clone(e.Details),
	}
	if e.Todo != "" {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[todo] = e.Todo
	}
	details := []protoadapt.MessageV1{info}
	if len(e.Fields) > 0 {
		br := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			br.FieldViolations = append(br.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: f.Path, Description: f.Message})
		}
		details = append(details, br)
	}
	if e.Retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.Retry)})
	}
	if full, err := st.WithDetails(details...); err == nil {
		return full
	}
	return st
}

func hasInfo(st *status.Status) bool {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			return true
		}
	}
	return false
}

// From converts an error of a client call to an *Error. Nil stays nil; an error without a status is classified as in Status.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e := As(err); e != nil {
		return e
	}
	st := remote(err)
	if st == nil {
		return classify(err)
	}
	e := &Error{Code: st.Code(), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason = faultv1.Reason(faultv1.Reason_value["REASON_"+d.GetReason()])
			e.Details = maps.Clone(d.GetMetadata())
			e.Todo = e.Details[todo]
			delete(e.Details, todo)
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Field{Path: v.GetField(), Message: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.Retry = d.GetRetryDelay().AsDuration().Round(time.Millisecond)
		}
	}
	return e
}

// ReasonOf returns the reason of an error, REASON_UNSPECIFIED for nil.
func ReasonOf(err error) faultv1.Reason {
	if err == nil {
		return faultv1.Reason_REASON_UNSPECIFIED
	}
	return From(err).Reason
}

// CodeOf returns the stable lower-case code of an error, "" for nil.
func CodeOf(err error) string {
	if err == nil {
		return ""
	}
	return CodeName(ReasonOf(err))
}

// Is reports whether err has the reason.
func Is(err error, reason faultv1.Reason) bool { return err != nil && ReasonOf(err) == reason }

// Retryable reports whether the same call may succeed later without changes by the caller.
func Retryable(err error) bool {
	if err == nil {
		return false
	}
	e := From(err)
	switch e.Reason {
	case faultv1.Reason_REASON_TOO_LARGE, faultv1.Reason_REASON_QUOTA_EXCEEDED: // a retry would be as large, or too early
		return false
	}
	switch e.Code {
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Aborted, codes.DataLoss, codes.Internal:
		return true
	case codes.Unimplemented: // returned by a replica of an older version during an upgrade
		return true
	default:
		return false
	}
}

// Refused reports whether the callee understood the call and declined it, including for a reached limit: a retry within seconds is
// pointless.
func Refused(err error) bool {
	if err == nil {
		return false
	}
	switch From(err).Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.PermissionDenied, codes.ResourceExhausted, codes.AlreadyExists:
		return true
	default:
		return false
	}
}

// Text returns message and hint on one line, for a turn's error and for the CLI.
func (e *Error) Text() string {
	if e.Todo == "" {
		return e.Message
	}
	return fmt.Sprintf("%s. %s", strings.TrimSuffix(e.Message, "."), e.Todo)
}
