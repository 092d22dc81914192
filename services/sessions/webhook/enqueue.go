package webhook

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// Event is an event of a turn that webhooks subscribe to.
type Event struct {
	// Type is its name, for example "turn.completed".
	Type string
	// Turn is the turn it happened in; Root the user's turn that Turn works for, Turn itself if it is no sub-agent's.
	Turn, Root store.Turn
	// Agents are the agents of the turns from Root down to Turn.
	Agents []string
	// Body encodes what is sent. It is called only if there is a subscriber.
	Body func() ([]byte, error)
}

// Enqueue writes a delivery for each subscriber of an event, in the transaction in which the event happens: both are stored, or neither.
func (s *Service) Enqueue(tx *journal.Tx, e Event) error {
	hooks, turnURL, err := subscribers(tx, e)
	if err != nil || len(hooks) == 0 {
		return err
	}
	body, err := e.Body()
	if err != nil {
		return err
	}
	now := tx.Now()
	for _, w := range hooks {
		d := webhookdb.Delivery{
			Tenant: e.Turn.Tenant, ID: ids.New(ids.Delivery), WebhookID: w.ID, TurnID: e.Turn.ID, SessionID: e.Turn.SessionID, Type: e.Type,
			Body:        body,
			NextAttempt: now, GiveUp: now.Add(s.cfg.GiveUp), CreateTime: now,
		}
		if w.PerTurn {
			d.URL = turnURL
		}
		if err := tx.AddDelivery(tx.Context(), d); err != nil {
			return err
		}
	}
	tx.After(func(context.Context) { s.sender.trigger() })
	return nil
}

// subscribers lists the webhooks that subscribe to an event of any of its agents, and the URL that the root turn named for itself.
func subscribers(tx *journal.Tx, e Event) (hooks []webhookdb.Webhook, turnURL string, err error) {
	for _, agent := range e.Agents {
		more, err := tx.Subscribers(tx.Context(), e.Turn.Tenant, agent)
		if err != nil {
			return nil, "", err
		}
		for _, w := range more { // each agent's list includes the webhooks of all agents
			if !slices.ContainsFunc(hooks, func(h webhookdb.Webhook) bool { return h.ID == w.ID }) {
				hooks = append(hooks, w)
			}
		}
	}
	perTurn, turnURL, err := tx.TurnWebhook(tx.Context(), e.Turn.Tenant, e.Root.ID)
	if err != nil {
		return nil, "", err
	}
	if turnURL != "" {
		hooks = append(hooks, perTurn)
	}
	return slices.DeleteFunc(hooks, func(w webhookdb.Webhook) bool { return len(w.Events) > 0 && !slices.Contains(w.Events, e.Type) }),
		turnURL, nil
}
