package api

import (
	"context"

	"google.golang.org/grpc/codes"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/api/trial"
	"github.com/windlass-dev/windlass/services/inference/attempt"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// TryModel implements InferenceService.
func (s *server) TryModel(ctx context.Context, req *inferencev1.TryModelRequest) (*inferencev1.TryModelResponse, error) {
	m, err := s.Models.Resolve(req.GetModel(), codes.InvalidArgument)
	if err != nil {
		return nil, err
	}
	why, err := s.Policy.Denied(ctx, user(ctx), m.FullName())
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return nil, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "%s: %s", m.FullName(), why)
	}
	window, _ := s.Models.Window(m)
	tried := trial.Model{Name: m.FullName(), Window: int(window), Service: trying{s}, Used: &turnv1.Usage{}}
	checks, err := tried.Run(ctx, req.GetChecks())
	if err != nil {
		return nil, err
	}
	if p := s.Models.Price(m); p != nil {
		tried.Used.CostMicros = contract.Cost(p, tried.Used)
		tried.Used.Cost = money.Text(tried.Used.GetCostMicros())
	}
	return &inferencev1.TryModelResponse{Model: m.FullName(), Checks: checks, Usage: tried.Used}, nil
}

// trying implements trial.Service.
type trying struct{ *server }

// Say implements trial.Service.
func (t trying) Say(ctx context.Context, req *inferencev1.GenerateRequest) (pieces int, end *inferencev1.Finished, err error) {
	m, err := t.Models.Resolve(req.GetModel(), codes.InvalidArgument)
	if err != nil {
		return 0, nil, err
	}
	call := callFromProto(req)
	call.Targets, call.Principal = []catalog.Model{m}, user(ctx)
	to := &kept{}
	err = t.Attempts.Generate(ctx, call, to)
	return to.pieces, to.end, err
}

// kept receives an answer.
type kept struct {
	pieces int
	end    *inferencev1.Finished
}

var _ attempt.Receiver = (*kept)(nil)

// Piece implements attempt.Receiver.
func (k *kept) Piece(d provider.Delta) error {
	if d.Text != "" {
		k.pieces++
	}
	return nil
}

// Attempt implements attempt.Receiver.
func (*kept) Attempt(*turnv1.ModelAttempt) error { return nil }

// Finish implements attempt.Receiver.
func (k *kept) Finish(a *modelcall.Answer, by *turnv1.ModelAttempt) error {
	k.end = answerToProto(a, by).GetFinished()
	return nil
}
