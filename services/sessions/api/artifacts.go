package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/artifact"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Artifacts implements ArtifactService.
type Artifacts struct {
	sessionsv1.UnimplementedArtifactServiceServer
	artifacts *artifact.Service
}

// NewArtifacts serves artifacts.
func NewArtifacts(artifacts *artifact.Service) *Artifacts { return &Artifacts{artifacts: artifacts} }

// ReadArtifact implements ArtifactService.
func (s *Artifacts) ReadArtifact(ctx context.Context, req *sessionsv1.ReadArtifactRequest) (*sessionsv1.ReadArtifactResponse, error) {
	a, data, err := s.artifacts.Read(ctx, req.GetArtifactId(), req.GetSessionId(), req.GetOffset(), req.GetLength())
	if err != nil {
		return nil, err
	}
	return &sessionsv1.ReadArtifactResponse{Artifact: artifactToProto(a), Data: data}, nil
}

// ListArtifacts implements ArtifactService.
func (s *Artifacts) ListArtifacts(ctx context.Context, req *sessionsv1.ListArtifactsRequest) (*sessionsv1.ListArtifactsResponse, error) {
	ses, err := s.artifacts.Session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	list := "artifacts/" + ses.ID
	var after timeCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.artifacts.List(ctx, ses, after.time(), after.ID, size+1)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ListArtifactsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(a store.Artifact) any { return afterTime(a.CreateTime, a.ID) })
	for _, a := range rows {
		out.Artifacts = append(out.Artifacts, artifactToProto(a))
	}
	return out, nil
}

func artifactToProto(a store.Artifact) *sessionsv1.Artifact {
	return &sessionsv1.Artifact{
		Id: a.ID, SessionId: a.SessionID, TurnId: a.TurnID, CallId: a.CallID, Name: a.Name, MediaType: a.MediaType, Size: a.Size,
		Sha256:     a.SHA256,
		CreateTime: timestamp.Of(a.CreateTime),
	}
}
