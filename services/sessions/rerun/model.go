package rerun

import (
	"context"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// ModelResolver is the part of the inference service that knows models. An unknown one is an error with the reason MODEL_UNKNOWN.
type ModelResolver interface {
	ResolveModel(ctx context.Context, req *inferencev1.ResolveModelRequest, opts ...grpc.CallOption) (*inferencev1.Model, error)
}

// checkModel refuses a model that a caller names and that no provider has. While nobody can tell, it is accepted: the turn finds
// out when it begins.
func (s *Service) checkModel(ctx context.Context, name string) error {
	if name == "" || s.deps.Models == nil {
		return nil
	}
	_, err := s.deps.Models.ResolveModel(ctx, &inferencev1.ResolveModelRequest{Model: name})
	if fault.Is(err, faultv1.Reason_REASON_MODEL_UNKNOWN) {
		f := fault.From(err)
		return fault.Invalid("model", "%s", f.Message).Hint("%s", f.Todo)
	}
	if err != nil {
		s.deps.Log.DebugContext(ctx, "model is not checked", "model", name, "error", err)
	}
	return nil
}
