package registry

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// RecoveredCall is a tool call that Recover gave up.
type RecoveredCall struct {
	Tenant string `json:"tenant"`
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	// Once: the tool's effect may not be repeated.
	Once      bool   `json:"once"`
	TurnID    string `json:"turn_id,omitempty"`
	SessionID string `json:"session_id,omitempty"`
}

// Recover marks every tool call of the ledger that had not ended as unresolved, in a database that was restored from a backup: whether it
// took effect is not known, so it is not sent again. It brings the tables up to date first. No process with the registry role may run.
// Running it again does nothing more.
func Recover(ctx context.Context, db *sqldb.DB) ([]RecoveredCall, error) {
	if err := store.Migrate(ctx, db); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	lost, err := store.New(db).GiveUpAll(ctx, db.Now())
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	calls := make([]RecoveredCall, len(lost))
	for i, e := range lost {
		calls[i] = RecoveredCall{
			Tenant: e.Tenant, ID: e.ID, Tool: e.Tool, Once: !e.Effect.Repeatable(), TurnID: e.TurnID, SessionID: e.SessionID,
		}
	}
	return calls, nil
}
