package workflow

import (
	"context"
	"errors"
	"net/http"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Probe asks whether Temporal and the source's namespace are there, and returns the version of the server. The error is a fault for the
// source's owner.
func (c *Client) Probe(ctx context.Context, s store.Source, authorize func(*http.Request) error, hide func(string) string) (string, error) {
	at := &server{client: c, source: s, authorize: authorize}
	var namespace workflowservice.DescribeNamespaceResponse
	err := at.do(ctx, "DescribeNamespace", &workflowservice.DescribeNamespaceRequest{Namespace: at.namespace()}, &namespace)
	var info workflowservice.GetSystemInfoResponse
	if err == nil {
		err = at.do(ctx, "GetSystemInfo", &workflowservice.GetSystemInfoRequest{}, &info)
	}
	if err == nil {
		return "Temporal " + info.GetServerVersion(), nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return "", f
	}
	said := hide(message(err))
	switch status.Code(err) {
	case codes.NotFound, codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated:
		return "", source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: Temporal refuses the namespace %q: %s",
			s.Name, at.namespace(), said))
	}
	_, unsent := errors.AsType[notSentError](err)
	if grpccall.Answered(err) && (!unsent || status.Code(err) == codes.Unavailable) {
		return "", source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q: the server does not answer as Temporal: %s", s.Name, said))
	}
	return "", unreached(s.Name, said)
}
