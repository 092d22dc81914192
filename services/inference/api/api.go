// Package api serves InferenceService: it checks requests and converts between messages and what the other packages do.
package api

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/page"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/attempt"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/health"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/route"
	"github.com/windlass-dev/windlass/services/inference/store"
)

// server implements InferenceService.
type server struct {
	inferencev1.UnimplementedInferenceServiceServer

	Deps
}

// Deps are what the service works with. All but Stored are required.
type Deps struct {
	Models   *catalog.Catalog
	Calls    *modelcall.Caller
	Attempts *attempt.Caller
	Routes   *route.Resolver
	Health   *health.Table
	Policy   route.Policy
	// Stored stores the routes of tenants; nil = there are only those of the configuration.
	Stored store.Store
	// MaxRoutes limits the stored routes of a tenant.
	MaxRoutes int
	// Now is the database's time.
	Now func() time.Time
}

// Register adds the service to a server.
func Register(r grpc.ServiceRegistrar, deps Deps) {
	inferencev1.RegisterInferenceServiceServer(r, &server{Deps: deps})
}

// ResolveModel implements InferenceService.
func (s *server) ResolveModel(_ context.Context, req *inferencev1.ResolveModelRequest) (*inferencev1.Model, error) {
	m, err := s.Models.Resolve(req.GetModel(), codes.NotFound)
	if err != nil {
		return nil, err
	}
	return s.modelToProto(m), nil
}

// modelCursor is the last model of a page.
type modelCursor struct{ Name string }

// ListModels implements InferenceService.
func (s *server) ListModels(ctx context.Context, req *inferencev1.ListModelsRequest) (*inferencev1.ListModelsResponse, error) {
	var after modelCursor
	size, err := page.Request("models", req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	resp := &inferencev1.ListModelsResponse{}
	for _, m := range s.Models.List(ctx) {
		if after.Name != "" && (m.Default || m.FullName() <= after.Name) && !(after.Name == s.Models.DefaultModel() && !m.Default) {
			continue
		}
		if len(resp.GetModels()) == size {
			resp.NextPageToken = page.Encode("models", modelCursor{resp.GetModels()[size-1].GetName()})
			break
		}
		resp.Models = append(resp.Models, s.modelToProto(m))
	}
	return resp, nil
}

// Generate implements InferenceService.
func (s *server) Generate(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	call := callFromProto(req)
	for i, name := range append([]string{req.GetModel()}, req.GetFallbacks()...) {
		m, err := s.Models.Resolve(name, codes.InvalidArgument)
		switch {
		case err == nil:
			call.Targets = append(call.Targets, m)
		case i == len(req.GetFallbacks()) && len(call.Targets) == 0: // the configuration has changed since the turn began
			return err
		}
	}
	return s.Attempts.Generate(stream.Context(), call, receiver{stream})
}

// receiver sends an answer to the caller.
type receiver struct {
	stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]
}

// Piece implements attempt.Receiver.
func (r receiver) Piece(d provider.Delta) error { return r.stream.Send(deltaToProto(d)) }

// Attempt implements attempt.Receiver.
func (r receiver) Attempt(a *turnv1.ModelAttempt) error {
	return r.stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Attempt{Attempt: a}})
}

// Finish implements attempt.Receiver.
func (r receiver) Finish(a *modelcall.Answer, by *turnv1.ModelAttempt) error {
	return r.stream.Send(answerToProto(a, by))
}

// Moderate implements InferenceService.
func (s *server) Moderate(ctx context.Context, req *inferencev1.ModerateRequest) (*inferencev1.ModerateResponse, error) {
	m, err := s.Models.Resolve(req.GetModel(), codes.InvalidArgument)
	if err != nil {
		return nil, err
	}
	judge := s.Calls.Moderate
	if req.GetForm() == inferencev1.ModerationForm_MODERATION_FORM_GUARD {
		judge = s.Calls.Guard
	}
	found, err := judge(ctx, m, req.GetTurnId(), req.GetTexts())
	if err != nil {
		return nil, err
	}
	out := &inferencev1.ModerateResponse{}
	for _, f := range found {
		out.Results = append(out.Results, &inferencev1.ModerationResult{Flagged: f.Flagged, Categories: f.Categories})
	}
	return out, nil
}
