package store

import (
	"context"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Artifact is something kept beside a conversation, without its bytes.
type Artifact struct {
	// Tenant, ID and SessionID name it: a fork has the artifacts of what it was forked from, under the same ids.
	Tenant, ID, SessionID string
	// TurnID and CallID are where it came from.
	TurnID, CallID string
	// Name and MediaType describe it to its readers.
	Name, MediaType string
	// Size in bytes, and the bytes' SHA-256, hex.
	Size   int64
	SHA256 string
	// CreateTime is when it was made.
	CreateTime time.Time
}

const artifactColumns = "tenant, id, session_id, turn_id, call_id, name, media_type, size, sha256, create_us"

func scanArtifact(s sqldb.Scanner) (a Artifact, err error) {
	err = s.Scan(&a.Tenant, &a.ID, &a.SessionID, &a.TurnID, &a.CallID, &a.Name, &a.MediaType, &a.Size, &a.SHA256,
		sqldb.TimeColumn(&a.CreateTime))
	return a, err
}

// AddArtifact stores an artifact of a locked session. Bytes that are there already are not stored again.
func (tx *agentTx) AddArtifact(ctx context.Context, a Artifact, data []byte) error {
	if err := addBlob(ctx, tx, a.Tenant, a.SHA256, data); err != nil {
		return err
	}
	return tx.insertArtifact(ctx, a)
}

// addBlob stores bytes, or counts one more that has them.
func addBlob(ctx context.Context, tx sqldb.Tx, tenant, sha256 string, data []byte) error {
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO artifact_blobs (tenant, sha256, refs, data) VALUES ($1, $2, 1, $3)
		ON CONFLICT (tenant, sha256) DO UPDATE SET refs = artifact_blobs.refs + 1`, tenant, sha256, data)
	return err
}

// shareBlob counts one more that has bytes. False means that they are gone.
func shareBlob(ctx context.Context, tx sqldb.Tx, tenant, sha256 string) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, "UPDATE artifact_blobs SET refs = refs + 1 WHERE tenant = $1 AND sha256 = $2", tenant, sha256)
	return n > 0, err
}

// dropBlob counts one less that has bytes, and deletes them after the last one.
func dropBlob(ctx context.Context, tx sqldb.Tx, tenant, sha256 string) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE artifact_blobs SET refs = refs - 1 WHERE tenant = $1 AND sha256 = $2", tenant, sha256)
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, "DELETE FROM artifact_blobs WHERE tenant = $1 AND sha256 = $2 AND refs <= 0", tenant, sha256)
	return err
}

// ShareArtifact makes an artifact of another session one of a locked session too. False means that its bytes are gone.
func (tx *agentTx) ShareArtifact(ctx context.Context, a Artifact) (bool, error) {
	there, err := shareBlob(ctx, tx, a.Tenant, a.SHA256)
	if err != nil || !there {
		return false, err
	}
	return true, tx.insertArtifact(ctx, a)
}

var insertArtifacts = sqldb.Insert("artifacts", artifactColumns)

func (tx *agentTx) insertArtifact(ctx context.Context, a Artifact) error {
	_, err := sqldb.Exec(ctx, tx, insertArtifacts,
		a.Tenant, a.ID, a.SessionID, a.TurnID, a.CallID, a.Name, a.MediaType, a.Size, a.SHA256, sqldb.Micros(a.CreateTime))
	return err
}

// Artifact reads an artifact of a session, or with an empty session all that have the id: one for each session that it is in, oldest first.
func (s *agentReader) Artifact(ctx context.Context, tenant, id, session string) ([]Artifact, error) {
	return rows.All(ctx, s.DB.Reader(), scanArtifact, "SELECT "+artifactColumns+` FROM artifacts
		WHERE tenant = $1 AND id = $2 AND ($3 = '' OR session_id = $3) ORDER BY create_us, session_id`, tenant, id, session)
}

// Artifacts lists the artifacts of a session by time, after the one made at after with the id afterID.
func (s *agentReader) Artifacts(ctx context.Context, tenant, session string, after time.Time, afterID string, limit int) ([]Artifact,
	error,
) {
	return rows.All(ctx, s.DB.Reader(), scanArtifact, "SELECT "+artifactColumns+` FROM artifacts
		WHERE tenant = $1 AND session_id = $2 AND (create_us, id) > ($3, $4) ORDER BY create_us, id LIMIT $5`, tenant, session, sqldb.Micros(after),
		afterID, limit)
}

// ArtifactData reads up to length bytes of an artifact from offset on. ErrNotFound when they are gone.
func (s *agentReader) ArtifactData(ctx context.Context, tenant, sha256 string, offset, length int64) ([]byte, error) {
	return rows.One(ctx, s.DB.Reader(), sqldb.Column[[]byte], `SELECT substr(data, CAST($3 AS INTEGER), CAST($4 AS INTEGER)) FROM
		artifact_blobs
		WHERE tenant = $1 AND sha256 = $2`, tenant, sha256, offset+1, length)
}

// dropArtifacts removes the artifacts of a locked session, and the bytes that no other session has.
func (tx *agentTx) dropArtifacts(ctx context.Context, tenant, session string) error {
	sums, err := sqldb.All(ctx, tx, sqldb.Column[string], "SELECT sha256 FROM artifacts WHERE tenant = $1 AND session_id = $2", tenant,
		session)
	if err != nil || len(sums) == 0 {
		return err
	}
	slices.Sort(sums) // two sessions that go at the same time take the rows in the same order
	for _, sum := range sums {
		if err := dropBlob(ctx, tx, tenant, sum); err != nil {
			return err
		}
	}
	_, err = sqldb.Exec(ctx, tx, "DELETE FROM artifacts WHERE tenant = $1 AND session_id = $2", tenant, session)
	return err
}
