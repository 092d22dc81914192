package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/eventlog"
)

// EventSource is the source of the domain events of the sessions service.
const EventSource = "/windlass/sessions"

// DomainEvents returns the table of the domain events.
func (s *Store) DomainEvents() *eventlog.Table { return s.domain }

// RecordEvent adds a domain event that was made, unless making it failed. It becomes visible a moment after the transaction is committed.
func (tx *Tx) RecordEvent(ctx context.Context, e eventlog.Event, err error) error {
	if err != nil {
		return err
	}
	tx.recorded++
	return tx.domain.Add(ctx, tx, e, tx.recorded)
}
