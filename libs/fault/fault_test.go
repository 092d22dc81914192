package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestStatusAndBack(t *testing.T) {
	rows := []struct {
		name string
		err  error
		code codes.Code
		why  string
		text string
		http int
	}{
		{
			"own error keeps its reason", fault.NotFound("turn %q does not exist", "trn_1"), codes.NotFound, "not_found",
			`turn "trn_1" does not exist`, 404,
		},
		{
			"wrapping adds meaning", fmt.Errorf("agent %q: %w", "a", fault.NotFound("no such agent")), codes.NotFound, "not_found",
			`agent "a": no such agent`, 404,
		},
		{"unknown errors are hidden", errors.New("dial tcp 10.0.0.1: secret"), codes.Internal, "internal", "internal error", 500},
		{
			"a cause is hidden", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the tool is away").Cause(errors.New("secret")),
			codes.Unavailable, "tool_unavailable", "the tool is away", 503,
		},
		{"cancelled context", context.Canceled, codes.Canceled, "cancelled", "the call was cancelled", 499},
		{"deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "deadline_exceeded", "the call took too long", 504},
		{
			"bare transport error", status.Error(codes.Unavailable, "connection refused 127.0.0.1:1"), codes.Unavailable, "unavailable",
			"a part of the mesh cannot be reached", 503,
		},
		{
			"what is wrapped behind is hidden", fmt.Errorf("%w (%w)", fault.Conflict("changed"), errors.New("secret")), codes.Aborted, "conflict",
			"changed", 409,
		},
		{
			"too large is 413", fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "too much"), codes.InvalidArgument, "too_large",
			"too much", 413,
		},
		{"conflict is 409", fault.Conflict("changed"), codes.Aborted, "conflict", "changed", 409},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			st := fault.Status(r.err)
			if st.Code() != r.code || st.Message() != r.text {
				t.Fatalf("status = %s %q, want %s %q", st.Code(), st.Message(), r.code, r.text)
			}
			again := fault.Status(st.Err())
			if again.Message() != st.Message() {
				t.Errorf("a status that passes through a second service became %q", again.Message())
			}
			if wrapped := fault.Status(fmt.Errorf("ask policy: %w", st.Err())); wrapped.Message() != st.Message() {
				t.Errorf("a wrapped status became %q", wrapped.Message())
			}
			if got := fault.CodeOf(st.Err()); got != r.why {
				t.Errorf("code = %q, want %q", got, r.why)
			}
			if p := fault.ToProblem(st.Err(), "/x"); p.Status != r.http || p.Code != r.why {
				t.Errorf("problem = %d %s, want %d %s", p.Status, p.Code, r.http, r.why)
			}
		})
	}
}

func TestFieldsRetryAndHintTravel(t *testing.T) {
	in := fault.Invalid("agent.id", "must start with a letter").RetryAfter(1500 * time.Millisecond)
	out := fault.From(fault.Status(in).Err())
	if len(out.Fields) != 1 || out.Fields[0].Path != "agent.id" {
		t.Errorf("fields = %+v", out.Fields)
	}
	if out.Retry != 1500*time.Millisecond {
		t.Errorf("retry = %v", out.Retry)
	}
	if out.Todo == "" {
		t.Error("the hint was lost")
	}
	if fault.Status(nil).Code() != codes.OK || fault.From(nil) != nil || fault.CodeOf(nil) != "" {
		t.Error("nil must stay nil")
	}
}

func TestEveryReasonHasACodeName(t *testing.T) {
	for _, name := range faultv1.Reason_name {
		if got := fault.CodeName(faultv1.Reason(faultv1.Reason_value[name])); got == "" {
			t.Errorf("%s has no code name", name)
		}
	}
}
