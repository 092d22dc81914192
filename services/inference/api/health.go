package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/health"
)

// healthCursor is the last entry of a page.
type healthCursor struct{ Kind, Name, Mark string }

// before reports whether an entry is on a page before.
func (c healthCursor) before(s health.Subject) bool {
	switch {
	case s.Kind != c.Kind:
		return s.Kind < c.Kind
	case s.Name != c.Name:
		return s.Name < c.Name
	}
	return s.Mark <= c.Mark
}

// ListModelHealth implements InferenceService.
func (s *server) ListModelHealth(
	_ context.Context, req *inferencev1.ListModelHealthRequest,
) (*inferencev1.ListModelHealthResponse, error) {
	var after healthCursor
	size, err := page.Request("model health", req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	out := &inferencev1.ListModelHealthResponse{}
	var last health.Subject
	for _, state := range s.Health.List() {
		if after.Name != "" && after.before(state.Subject) {
			continue
		}
		if len(out.GetEntries()) == size {
			out.NextPageToken = page.Encode("model health", healthCursor(last))
			break
		}
		out.Entries = append(out.Entries, healthToProto(state))
		last = state.Subject
	}
	return out, nil
}

func healthToProto(s health.State) *inferencev1.ModelHealth {
	out := &inferencev1.ModelHealth{
		Name: s.Subject.Name, Kind: inferencev1.ModelHealthKind_MODEL_HEALTH_KIND_MODEL, Failures: int32(s.Failures), Reason: s.Reason,
		Status:     inferencev1.ModelHealthStatus_MODEL_HEALTH_STATUS_FAILING,
		ChangeTime: timestamppb.New(s.Changed),
	}
	if s.Subject.Kind == health.Key {
		out.Kind = inferencev1.ModelHealthKind_MODEL_HEALTH_KIND_KEY
	}
	switch s.Status {
	case health.Cooling:
		out.Status = inferencev1.ModelHealthStatus_MODEL_HEALTH_STATUS_COOLING
	case health.Dead:
		out.Status = inferencev1.ModelHealthStatus_MODEL_HEALTH_STATUS_REFUSED
	}
	if !s.Until.IsZero() {
		out.Until = timestamppb.New(s.Until)
	}
	return out
}

// ResetModelHealth implements InferenceService.
func (s *server) ResetModelHealth(
	_ context.Context, req *inferencev1.ResetModelHealthRequest,
) (*inferencev1.ResetModelHealthResponse, error) {
	if !s.Health.Reset(req.GetName()) {
		return nil, fault.NotFound("no model or key %q has failed", req.GetName()).
			Hint("See windlass model health.")
	}
	return &inferencev1.ResetModelHealthResponse{}, nil
}
