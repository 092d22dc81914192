package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Agent is an agent at one revision.
type Agent struct {
	// Tenant and ID name it.
	Tenant, ID string
	// Revision counts its blueprints from 1; it continues when a deleted id is taken again.
	Revision uint32
	// Deleted agents are out of sight; their revisions stay for the turns that began with them.
	Deleted bool
	Spec    agentspec.Spec
	// CreateTime is the agent's, UpdateTime the revision's.
	CreateTime, UpdateTime time.Time
}

const agentColumns = "tenant, id, revision, deleted, data"

func scanAgent(s sqldb.Scanner) (a Agent, err error) {
	var deleted int64
	var data []byte
	if err = s.Scan(&a.Tenant, &a.ID, &a.Revision, &deleted, &data); err != nil {
		return a, err
	}
	a.Deleted = deleted != 0
	return a, a.unmarshal(data)
}

func scanRevision(s sqldb.Scanner) (a Agent, err error) {
	var data []byte
	if err = s.Scan(&a.Tenant, &a.ID, &a.Revision, &data); err != nil {
		return a, err
	}
	return a, a.unmarshal(data)
}

const selectAgent = "SELECT " + agentColumns + " FROM agents WHERE tenant = $1 AND id = $2"

// Agent reads an agent at its newest revision, also a deleted one. ErrNotFound when there never was one.
func (s *agentReader) Agent(ctx context.Context, tenant, id string) (Agent, error) {
	return rows.One(ctx, s.DB.Reader(), scanAgent, selectAgent, tenant, id)
}

// Agent reads an agent and, under PostgreSQL, locks it against other changes.
func (tx *agentTx) Agent(ctx context.Context, tenant, id string) (Agent, error) {
	return sqldb.One(ctx, tx, scanAgent, selectAgent+tx.DB.ForUpdate(), tenant, id)
}

const selectRevision = "SELECT tenant, id, revision, data FROM agent_revisions WHERE tenant = $1 AND id = $2 AND revision = $3"

// AgentRevision reads an agent at one revision. ErrNotFound when there is no such revision.
func (s *agentReader) AgentRevision(ctx context.Context, tenant, id string, revision uint32) (Agent, error) {
	return rows.One(ctx, s.DB.Reader(), scanRevision, selectRevision, tenant, id, int64(revision))
}

// Agents lists agents that are not deleted by id, after the given one.
func (s *agentReader) Agents(ctx context.Context, tenant, after string, limit int) ([]Agent, error) {
	return rows.All(ctx, s.DB.Reader(), scanAgent, "SELECT "+agentColumns+
		" FROM agents WHERE tenant = $1 AND deleted = 0 AND id > $2 ORDER BY id LIMIT $3", tenant, after, limit)
}

// AgentRevisions lists the revisions of an agent below the given one, newest first. A below of 0 means all.
func (s *agentReader) AgentRevisions(ctx context.Context, tenant, id string, below int64, limit int) ([]Agent, error) {
	return rows.All(ctx, s.DB.Reader(), scanRevision, `SELECT tenant, id, revision, data FROM agent_revisions
		WHERE tenant = $1 AND id = $2 AND (CAST($3 AS BIGINT) <= 0 OR revision < $3) ORDER BY revision DESC LIMIT $4`, tenant, id, below, limit)
}

var insertAgentRevisions = sqldb.Insert("agent_revisions", "tenant, id, revision, data")

// PutAgent makes a the newest revision. The revision must be a new one.
func (tx *agentTx) PutAgent(ctx context.Context, a Agent) error {
	data, err := a.marshal()
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, `INSERT INTO agents (tenant, id, revision, deleted, data) VALUES ($1, $2, $3, 0, $4)
		ON CONFLICT (tenant, id) DO UPDATE SET revision = excluded.revision, deleted = 0, data = excluded.data`,
		a.Tenant, a.ID, int64(a.Revision), rows.Blob(data))
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, insertAgentRevisions,
		a.Tenant, a.ID, int64(a.Revision), rows.Blob(data))
	return err
}

// DeleteAgent takes an agent out of sight. ErrNotFound when it is not there or was deleted before.
func (tx *agentTx) DeleteAgent(ctx context.Context, tenant, id string) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE agents SET deleted = 1 WHERE tenant = $1 AND id = $2 AND deleted = 0", tenant, id)
}
