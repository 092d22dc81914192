package turntest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

type recall struct {
	knowledgev1.UnimplementedRecallServiceServer
	mesh *Mesh
}

// Recall returns the facts that Facts has set.
func (r *recall) Recall(_ context.Context, req *knowledgev1.RecallRequest) (*knowledgev1.RecallResponse, error) {
	if err := r.mesh.fault("Recall"); err != nil {
		return nil, err
	}
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	r.mesh.searched = append(r.mesh.searched, req.GetInput())
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

// Searched returns the inputs for which facts were recalled and passages found, in order.
func (m *Mesh) Searched() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.searched)
}

// FindPassages returns the passages that Passages has set.
func (r *recall) FindPassages(_ context.Context, req *knowledgev1.FindPassagesRequest) (*knowledgev1.FindPassagesResponse, error) {
	if err := r.mesh.fault("FindPassages"); err != nil {
		return nil, err
	}
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	r.mesh.searched = append(r.mesh.searched, req.GetInput())
	return &knowledgev1.FindPassagesResponse{Passages: r.mesh.passages}, nil
}

// ReadPassages returns those of the passages that Passages has set.
func (r *recall) ReadPassages(_ context.Context, req *knowledgev1.ReadPassagesRequest) (*knowledgev1.ReadPassagesResponse, error) {
	if err := r.mesh.fault("ReadPassages"); err != nil {
		return nil, err
	}
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	resp := &knowledgev1.ReadPassagesResponse{}
	for _, ref := range req.GetRefs() {
		for _, p := range r.mesh.passages {
			if proto.Equal(p.GetRef(), ref) {
				resp.Passages = append(resp.Passages, p)
			}
		}
	}
	return resp, nil
}

// Passages sets what the banks of agents have. Until then it is nothing.
func (m *Mesh) Passages(passages ...*knowledgev1.FoundPassage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passages = passages
}
