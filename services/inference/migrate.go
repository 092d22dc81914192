package inference

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/inference/store"
)

// Migrate brings the tables up to date, as New does; see sqldb.DB.Migrate.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	if err := store.Migrate(ctx, db); err != nil {
		return fmt.Errorf("inference: %w", err)
	}
	return nil
}
