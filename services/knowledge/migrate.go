package knowledge

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Migrate brings the tables up to date, as New does; see sqldb.DB.Migrate.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	if _, err := store.Open(ctx, db); err != nil {
		return fmt.Errorf("knowledge: %w", err)
	}
	return nil
}
