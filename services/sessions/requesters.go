package sessions

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// takeInput notes that a turn whose session is locked takes input of the caller: who is no other pair of eyes for the calls that follow from it.
func takeInput(tx *journal.Tx, t store.Turn) error {
	who := authn.From(tx.Context()).GetSubject()
	if who == "" || who == t.Subject {
		return nil
	}
	return tx.AddRequester(tx.Context(), t.Tenant, t.ID, who)
}

// inherit notes by whose input a new turn comes about, if it follows from another one: a sub-agent's from its parent's, a callback from the sub-agent's,
// a re-run from the turn that is run again.
func (o order) inherit(tx *journal.Tx, t store.Turn) error {
	var from []string
	if o.child != nil {
		from = append(from, o.child.ParentTurnID)
	}
	if o.rerun != nil {
		from = append(from, o.rerun.Event.GetOfTurn())
	}
	if o.answers != "" {
		from = append(from, o.answers)
	}
	for _, turn := range from {
		if err := tx.InheritRequesters(tx.Context(), t.Tenant, t.ID, turn); err != nil {
			return err
		}
	}
	return nil
}

// requestersOf lists the people by whose input a turn whose session is locked has come to where it is, as a wait keeps them.
func requestersOf(tx *journal.Tx, t store.Turn) (string, error) {
	all, err := tx.Requesters(tx.Context(), t.Tenant, t.ID)
	if err != nil || len(all) == 0 {
		return "", err
	}
	if !slices.Contains(all, t.Subject) {
		all = append(all, t.Subject)
		slices.Sort(all)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("requesters of turn %s: %w", t.ID, err)
	}
	return string(data), nil
}

// readRequesters lists the people by whose input the call of a wait came about.
func readRequesters(row store.Wait) ([]string, error) {
	if row.Requesters == "" {
		return []string{row.Requester}, nil
	}
	var all []string
	if err := json.Unmarshal([]byte(row.Requesters), &all); err != nil {
		return nil, fmt.Errorf("requesters of %s: %w", row.ID, err)
	}
	return all, nil
}
