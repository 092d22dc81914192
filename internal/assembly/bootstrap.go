package assembly

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Bootstrap applies a bundle once the roles run if the mesh has no agent yet, so that an operator's changes are kept.
func (p *Process) Bootstrap(bundle string) {
	p.group.Add(lifecycle.Component{Name: "bootstrap", Start: func(ctx context.Context) error {
		conn, err := p.dial(Sessions, nil)
		if err != nil {
			return err
		}
		agents := sessionsv1.NewAgentServiceClient(conn)
		ctx = authn.With(ctx, authn.Local())
		have, err := agents.ListAgents(ctx, &sessionsv1.ListAgentsRequest{PageSize: 1})
		if err != nil {
			return fmt.Errorf("look for agents: %w", err)
		}
		if len(have.GetAgents()) > 0 {
			return nil
		}
		if _, err := agents.ApplyBundle(ctx, &sessionsv1.ApplyBundleRequest{Yaml: bundle}); err != nil {
			return fmt.Errorf("apply the starter bundle: %w", err)
		}
		return nil
	}})
}

// DefaultModel returns the default model; empty if inference cannot be asked.
func (p *Process) DefaultModel(ctx context.Context) string {
	conn, err := p.dial(Inference, nil)
	if err != nil {
		return ""
	}
	m, err := inferencev1.NewInferenceServiceClient(conn).ResolveModel(authn.With(ctx, authn.Local()), &inferencev1.ResolveModelRequest{})
	if err != nil {
		p.log.WarnContext(ctx, "no default model", "error", err)
	}
	return m.GetName()
}
