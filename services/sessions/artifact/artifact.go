// Package artifact keeps the files that tools make in turns.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// MaxBytes bounds an artifact.
const MaxBytes = 8 << 20

// New is an artifact to be stored.
type New struct {
	// ID is chosen by the caller; a step that is repeated writes the same.
	ID, CallID, Name, MediaType string
	Data                        []byte
}

// Write stores an artifact of a step, with its event. The turn's session must be locked.
func Write(tx *journal.Tx, t store.Turn, step store.Step, a New) error {
	if len(a.Data) > MaxBytes || !access.Storable(a.ID+a.Name+a.MediaType+a.CallID) {
		return fault.Invalid("artifacts", "%q is larger than %d bytes, or its name holds a NUL", a.ID, MaxBytes)
	}
	sum := sha256.Sum256(a.Data)
	row := store.Artifact{
		Tenant: t.Tenant, ID: a.ID, SessionID: t.SessionID, TurnID: t.ID, CallID: a.CallID, Name: a.Name,
		MediaType: a.MediaType, Size: int64(len(a.Data)), SHA256: hex.EncodeToString(sum[:]), CreateTime: tx.Now(),
	}
	if err := tx.AddArtifact(tx.Context(), row, a.Data); err != nil {
		return err
	}
	_, err := tx.Append(journal.OfStep(t, step), &turnv1.Event{Data: &turnv1.Event_ArtifactCreated{ArtifactCreated: &turnv1.ArtifactCreated{
		ArtifactId: row.ID, Name: row.Name, MediaType: row.MediaType, Size: row.Size, Sha256: row.SHA256, CallId: row.CallID,
	}}})
	return err
}

// Service reads artifacts. It is safe for concurrent use.
type Service struct {
	store  *store.Store
	access access.Reader
}

// NewService returns the service.
func NewService(s *store.Store, r access.Reader) *Service { return &Service{store: s, access: r} }

func errNotFound(id string) error { return fault.NotFound("artifact %q does not exist", id) }

// Read returns an artifact that the caller may see, and up to length bytes of it from an offset; 0 stands for MaxBytes. A session
// that was forked shares the artifacts of the other one: sessionID says whose is meant, "" = any that the caller may see.
func (s *Service) Read(ctx context.Context, id, sessionID string, offset, length int64) (store.Artifact, []byte, error) {
	if !access.Storable(id + sessionID) {
		return store.Artifact{}, nil, errNotFound(strings.ReplaceAll(id, "\x00", ""))
	}
	found, err := s.store.Artifact(ctx, authn.Tenant(ctx), id, sessionID)
	if err != nil {
		return store.Artifact{}, nil, err
	}
	if length == 0 || length > MaxBytes {
		length = MaxBytes
	}
	for _, a := range found {
		if err := s.access.CheckSession(ctx, a.SessionID); err != nil {
			if !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
				return store.Artifact{}, nil, err
			}
			continue // the session of another subject, or deleted meanwhile
		}
		data, err := s.store.ArtifactData(ctx, a.Tenant, a.SHA256, min(offset, a.Size), length)
		if errors.Is(err, store.ErrNotFound) {
			continue // its session was deleted just now
		}
		return a, data, err
	}
	return store.Artifact{}, nil, errNotFound(id)
}

// List returns at most limit artifacts of a session that the caller may see, in the order of their creation, from behind the one
// that was made at after with afterID.
func (s *Service) List(ctx context.Context, ses store.Session, after time.Time, afterID string, limit int) ([]store.Artifact, error) {
	return s.store.Artifacts(ctx, ses.Tenant, ses.ID, after, afterID, limit)
}

// Session returns the session whose artifacts a caller asks for.
func (s *Service) Session(ctx context.Context, id string) (store.Session, error) {
	return s.access.Session(ctx, id)
}
