package agent

import (
	"context"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// ChainResolver is the part of the inference service that chooses the models of turns.
type ChainResolver interface {
	ResolveChain(ctx context.Context, req *inferencev1.ResolveChainRequest, opts ...grpc.CallOption) (*inferencev1.Chain, error)
}

// CheckModel refuses a model that the caller chooses for a turn of an agent: one that no provider has, that policy denies them, that the
// route of the turn does not have, or that does not take what the agent sets. While that cannot be found out, it is accepted: the turn
// finds out when it starts. content is the input of the turn, whose files are resolved.
func (s *Service) CheckModel(ctx context.Context, a store.Agent, ses store.Session, content []*turnv1.ContentPart, model string) error {
	switch {
	case model == "":
		return nil
	case !blueprint.Model(model):
		return fault.Invalid("model", "%s", blueprint.WantModel)
	case a.Spec.Hosted():
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the executor of agent %q chooses its models", a.ID).
			Hint("Leave out the model.")
	case s.deps.Chains == nil:
		return nil
	}
	chain, err := s.deps.Chains.ResolveChain(ctx, &inferencev1.ResolveChainRequest{
		AgentId: a.ID, Model: model, Principal: authn.From(ctx), SessionId: ses.ID, Chosen: true,
		Modalities: contract.Modalities(content...), Size: ses.ContextBytes / contract.BytesPerToken,
	})
	switch fault.ReasonOf(err) {
	case faultv1.Reason_REASON_MODEL_UNKNOWN:
		f := fault.From(err)
		return fault.Invalid("model", "%s", f.Message).Hint("%s", f.Todo)
	case faultv1.Reason_REASON_INVALID_ARGUMENT, faultv1.Reason_REASON_PERMISSION_DENIED:
		return err
	}
	for _, t := range chain.GetTargets() {
		for _, field := range t.GetModel().GetUnsupported() {
			if isSet(a.Spec, field) {
				return fault.Invalid("model", "%s does not take %s, which agent %q sets", t.GetModel().GetName(), field, a.ID).
					Hint("Choose another model.")
			}
		}
	}
	return nil
}

// TurnOf describes a turn of the caller whose models are explained.
type TurnOf struct {
	AgentID, SessionID string
	// Modalities are those of the input; empty means text.
	Modalities []string
	// Size is about how many tokens the conversation has.
	Size int64
}

// Explain returns the models that a turn of the caller would call now.
func (s *Service) Explain(ctx context.Context, turn TurnOf) (*inferencev1.Chain, error) {
	a, err := s.Get(ctx, turn.AgentID, 0)
	switch {
	case err != nil:
		return nil, err
	case s.deps.Chains == nil:
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the inference service cannot be asked")
	case a.Spec.Hosted():
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the executor of agent %q chooses its models", a.ID)
	case placeholder.In(a.Spec.Model):
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the model of agent %q depends on the session: %s",
			a.ID, a.Spec.Model)
	}
	if len(turn.Modalities) == 0 {
		turn.Modalities = contract.Modalities()
	}
	return s.deps.Chains.ResolveChain(ctx, &inferencev1.ResolveChainRequest{
		AgentId: a.ID, Model: a.Spec.Model, Fallbacks: a.Spec.Fallbacks, Principal: authn.From(ctx), SessionId: turn.SessionID,
		Modalities: turn.Modalities, Size: turn.Size,
	})
}
