package agent

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Types of domain events.
const (
	agentCreated = "dev.windlass.agent.created.v1"
	agentUpdated = "dev.windlass.agent.updated.v1"
	agentDeleted = "dev.windlass.agent.deleted.v1"
)

// record records a change of an agent.
func record(ctx context.Context, tx *store.Tx, eventType string, a store.Agent) error {
	e, err := eventlog.New(a.Tenant, eventType, a.ID, tx.Now(), &eventv1.AgentChange{
		AgentId: a.ID, Revision: a.Revision, Actor: authn.From(ctx).GetSubject(),
	})
	return tx.RecordEvent(ctx, e, err)
}
