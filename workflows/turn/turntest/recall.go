package turntest

import (
	"context"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

type recall struct {
	knowledgev1.UnimplementedRecallServiceServer
	mesh *Mesh
}

// Recall returns the facts that Facts has set.
func (r *recall) Recall(context.Context, *knowledgev1.RecallRequest) (*knowledgev1.RecallResponse, error) {
	if err := r.mesh.fault("Recall"); err != nil {
		return nil, err
	}
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	return &knowledgev1.RecallResponse{Facts: r.mesh.facts}, nil
}

// ReadFacts returns those of the facts that Facts has set.
func (r *recall) ReadFacts(_ context.Context, req *knowledgev1.ReadFactsRequest) (*knowledgev1.ReadFactsResponse, error) {
	if err := r.mesh.fault("ReadFacts"); err != nil {
		return nil, err
	}
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	resp := &knowledgev1.ReadFactsResponse{}
	for _, id := range req.GetFactIds() {
		for _, f := range r.mesh.facts {
			if f.GetFact().GetId() == id {
				resp.Facts = append(resp.Facts, f.GetFact())
			}
		}
	}
	return resp, nil
}

// Facts sets what is remembered about users. Until then it is nothing.
func (m *Mesh) Facts(facts ...*knowledgev1.RecalledFact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.facts = facts
}
