package sessions

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Migrate brings the tables up to date, as New does; see sqldb.DB.Migrate.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	if _, err := store.Open(ctx, db); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	return nil
}
