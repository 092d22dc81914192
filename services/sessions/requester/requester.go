// Package requester keeps the people by whose input a turn has come to where it is. None of them may approve a call of the turn
// unless the rule allows it.
package requester

import (
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Record adds the caller to the requesters of a turn whose session is locked.
func Record(tx *journal.Tx, t store.Turn) error {
	who := authn.From(tx.Context()).GetSubject()
	if who == "" || who == t.Subject {
		return nil
	}
	return tx.AddRequester(tx.Context(), t.Tenant, t.ID, who)
}

// Inherit copies to a turn the requesters of the turns that it follows from: a sub-agent's those of its parent, a re-run those of
// the turn that it runs again.
func Inherit(tx *journal.Tx, t store.Turn, from ...string) error {
	for _, turn := range from {
		if err := tx.InheritRequesters(tx.Context(), t.Tenant, t.ID, turn); err != nil {
			return err
		}
	}
	return nil
}

// Of lists the requesters of a turn whose session is locked, sorted.
func Of(tx *journal.Tx, t store.Turn) ([]string, error) {
	all, err := tx.Requesters(tx.Context(), t.Tenant, t.ID)
	if err != nil || slices.Contains(all, t.Subject) {
		return all, err
	}
	all = append(all, t.Subject)
	slices.Sort(all)
	return all, nil
}
