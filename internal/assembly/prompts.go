package assembly

import (
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/rpc"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/workflows/turn/prompt"
)

// newPrompts returns what shows the contexts of turns, by the code of workers: sessions must not import it.
func (p *Process) newPrompts(registryConn, policyConn rpc.Conn) (*prompt.Reader, error) {
	knowledgeConn, err := p.dial(Knowledge, authn.Service(Sessions))
	if err != nil {
		return nil, err
	}
	step := p.cfg.Worker.turn().Step
	config.Fill(&step) // the process may have no worker
	return prompt.New(prompt.Deps{
		Tools: registryv1.NewToolExecutionServiceClient(registryConn), Shields: policyv1.NewPolicyServiceClient(policyConn),
		Facts: knowledgev1.NewRecallServiceClient(knowledgeConn), MaxShownTools: step.MaxShownTools,
	})
}
