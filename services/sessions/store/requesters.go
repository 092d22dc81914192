package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

var insertTurnRequesters = sqldb.Insert("turn_requesters", "tenant, turn_id, subject") + " ON CONFLICT DO NOTHING"

// AddRequester notes that a turn whose session is locked has taken input of a subject.
func (tx *turnTx) AddRequester(ctx context.Context, tenant, turn, subject string) error {
	_, err := sqldb.Exec(ctx, tx, insertTurnRequesters,
		tenant, turn, subject)
	return err
}

// InheritRequesters notes that a turn whose session is locked has taken what another turn was given or came to, and so the input of all its
// requesters. A turn that is gone has none.
func (tx *turnTx) InheritRequesters(ctx context.Context, tenant, turn, from string) error {
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO turn_requesters (tenant, turn_id, subject)
		SELECT tenant, CAST($2 AS TEXT), subject FROM turns WHERE tenant = $1 AND id = $3
		UNION SELECT tenant, CAST($2 AS TEXT), subject FROM turn_requesters WHERE tenant = $1 AND turn_id = $3
		ON CONFLICT DO NOTHING`, tenant, turn, from)
	return err
}

// Requesters lists the people whose input a turn has taken, besides its own subject, by name.
func (tx *turnTx) Requesters(ctx context.Context, tenant, turn string) ([]string, error) {
	return sqldb.All(ctx, tx, sqldb.Column[string], "SELECT subject FROM turn_requesters WHERE tenant = $1 AND turn_id = $2 ORDER BY subject",
		tenant, turn)
}
