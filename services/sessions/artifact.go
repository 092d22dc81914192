package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxArtifact bounds an artifact in bytes.
const maxArtifact = 8 << 20

func noArtifact(id string) error { return fault.NotFound("artifact %q does not exist", id) }

// writeArtifacts keeps the artifacts of a commit, each told by its event.
func writeArtifacts(tx *journal.Tx, t store.Turn, step store.Step, artifacts []*sessionsv1.NewArtifact) error {
	for _, a := range artifacts {
		if len(a.GetData()) > maxArtifact || !access.Storable(a.GetId()+a.GetName()+a.GetMediaType()+a.GetCallId()) {
			return fault.Invalid("artifacts", "%q is larger than %d bytes, or its name holds a NUL", a.GetId(), maxArtifact)
		}
		sum := sha256.Sum256(a.GetData())
		row := store.Artifact{
			Tenant: t.Tenant, ID: a.GetId(), SessionID: t.SessionID, TurnID: t.ID, CallID: a.GetCallId(), Name: a.GetName(),
			MediaType: a.GetMediaType(), Size: int64(len(a.GetData())), SHA256: hex.EncodeToString(sum[:]), CreateUs: tx.NowUs,
		}
		if err := tx.AddArtifact(tx.Context(), row, a.GetData()); err != nil {
			return err
		}
		if _, err := tx.Append(journal.OfStep(t, step), &turnv1.Event{Data: &turnv1.Event_ArtifactCreated{ArtifactCreated: &turnv1.ArtifactCreated{
			ArtifactId: row.ID, Name: row.Name, MediaType: row.MediaType, Size: row.Size, Sha256: row.SHA256, CallId: row.CallID,
		}}}); err != nil {
			return err
		}
	}
	return nil
}

// ReadArtifact implements ArtifactService.
func (s *Service) ReadArtifact(ctx context.Context, req *sessionsv1.ReadArtifactRequest) (*sessionsv1.ReadArtifactResponse, error) {
	id := req.GetArtifactId()
	if !access.Storable(id + req.GetSessionId()) {
		return nil, noArtifact(strings.ReplaceAll(id, "\x00", ""))
	}
	found, err := s.store.Artifact(ctx, authn.Tenant(ctx), id, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		if _, err := s.access.Session(ctx, a.SessionID); err != nil {
			if !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
				return nil, err
			}
			continue // a session of somebody else, or gone by now
		}
		length := req.GetLength()
		if length == 0 || length > maxArtifact {
			length = maxArtifact
		}
		data, err := s.store.ArtifactData(ctx, a.Tenant, a.SHA256, min(req.GetOffset(), a.Size), length)
		if errors.Is(err, store.ErrNotFound) {
			continue // its session was deleted just now
		}
		if err != nil {
			return nil, err
		}
		return &sessionsv1.ReadArtifactResponse{Artifact: artifactToProto(a), Data: data}, nil
	}
	return nil, noArtifact(id)
}

// ListArtifacts implements ArtifactService.
func (s *Service) ListArtifacts(ctx context.Context, req *sessionsv1.ListArtifactsRequest) (*sessionsv1.ListArtifactsResponse, error) {
	ses, err := s.access.Session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	list := "artifacts/" + ses.ID
	var after timeCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Artifacts(ctx, ses.Tenant, ses.ID, after.Us, after.ID, size+1)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ListArtifactsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(a store.Artifact) any { return timeCursor{Us: a.CreateUs, ID: a.ID} })
	for _, a := range rows {
		out.Artifacts = append(out.Artifacts, artifactToProto(a))
	}
	return out, nil
}

func artifactToProto(a store.Artifact) *sessionsv1.Artifact {
	return &sessionsv1.Artifact{
		Id: a.ID, SessionId: a.SessionID, TurnId: a.TurnID, CallId: a.CallID, Name: a.Name, MediaType: a.MediaType, Size: a.Size, Sha256: a.SHA256,
		CreateTime: timestamp.OfMicros(a.CreateUs),
	}
}
