package assembly

import (
	"github.com/windlass-dev/windlass/libs/authn"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
	ingestion "github.com/windlass-dev/windlass/services/knowledge/dispatch"
)

func (p *Process) buildKnowledge() error {
	db, err := p.database(Knowledge)
	if err != nil {
		return err
	}
	policyConn, err := p.dial(Policy, authn.Service(Knowledge))
	if err != nil {
		return err
	}
	models, err := p.knowledgeModels()
	if err != nil {
		return err
	}
	registryConn, err := p.dial(Registry, nil) // reads resources as the user of a bank's source
	if err != nil {
		return err
	}
	engine, err := ingestion.New(p.temporal)
	if err != nil {
		return err
	}
	svc, err := knowledge.New(p.cfg.Knowledge, knowledge.Deps{
		DB: db, Policy: policyv1.NewPolicyServiceClient(policyConn), Engine: engine,
		MeshKey: p.cfg.Mesh.Key, Models: models, Egress: p.egress, Docs: documentation(),
		Servers: registryv1.NewServerServiceClient(registryConn), Log: p.log,
	})
	if err != nil {
		return err
	}
	svc.Register(p.server)
	p.group.Add(background(Knowledge, svc.Run))
	return nil
}

// knowledgeModels returns the models that the knowledge role calls, nil if its configuration names none.
func (p *Process) knowledgeModels() (inferencev1.InferenceServiceClient, error) {
	if !p.cfg.Knowledge.Models() {
		return nil, nil
	}
	conn, err := p.dial(Inference, authn.Service(Knowledge))
	if err != nil {
		return nil, err
	}
	return inferencev1.NewInferenceServiceClient(conn), nil
}
