package webhook

import (
	"context"
	"errors"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// validate checks the fields that a caller may set.
func (s *Service) validate(w webhookdb.Webhook) error {
	var wrong []fault.Field
	bad := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: "webhook." + field, Message: message})
	}
	switch {
	case w.PerTurn && w.URL != "":
		bad("url", "must be empty with per_turn: each turn names its own")
	case !w.PerTurn:
		if problem := s.addressProblem(w.URL); problem != "" {
			bad("url", problem)
		}
	}
	if w.PerTurn && w.AgentID != "" {
		bad("agent_id", "must be empty with per_turn: it signs for the turns that name an address")
	}
	if !access.Storable(w.AgentID) {
		bad("agent_id", "must not hold a NUL")
	}
	if !access.Storable(w.Description) {
		bad("description", "must not hold a NUL")
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	return nil
}

// Get reads a webhook.
func (s *Service) Get(ctx context.Context, tenant, id string) (webhookdb.Webhook, error) {
	if !access.Storable(id) {
		return webhookdb.Webhook{}, errNotFound(id)
	}
	w, err := s.store.Webhook(ctx, tenant, id)
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return w, err
}

// List returns at most limit webhooks after the given id, by id.
func (s *Service) List(ctx context.Context, tenant, after string, limit int) ([]webhookdb.Webhook, error) {
	return s.store.Webhooks(ctx, tenant, after, limit)
}

// Delete removes a webhook with its deliveries.
func (s *Service) Delete(ctx context.Context, tenant, id string) error {
	if !access.Storable(id) {
		return errNotFound(id)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteWebhook(ctx, tenant, id) })
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return err
}

// Update changes a webhook. change sets fields of the current one; it may run again after a conflict.
func (s *Service) Update(ctx context.Context, tenant, id string, change func(*webhookdb.Webhook) error) (webhookdb.Webhook, error) {
	return s.modify(ctx, tenant, id, func(w *webhookdb.Webhook) error {
		before := *w
		if err := change(w); err != nil {
			return err
		}
		return s.Revise(before, w)
	})
}

// Revise validates w as the successor of before. The last error is cleared with another URL, or when the webhook is enabled again.
func (s *Service) Revise(before webhookdb.Webhook, w *webhookdb.Webhook) error {
	if before.PerTurn != w.PerTurn {
		return ErrPerTurnFixed(before.PerTurn)
	}
	if before.Disabled && !w.Disabled || before.URL != w.URL {
		w.LastError = ""
	}
	return s.validate(*w)
}

// Rotate gives a webhook a new signing secret and returns it. The previous one signs as well for a day, unless it is revoked.
func (s *Service) Rotate(ctx context.Context, tenant, id string, revoke bool) (w webhookdb.Webhook, key secret.Value, err error) {
	w, err = s.modify(ctx, tenant, id, func(w *webhookdb.Webhook) (err error) {
		key, err = s.keys.rotate(w, !revoke, s.store.Now())
		return err
	})
	return w, key, err
}

func (s *Service) modify(ctx context.Context, tenant, id string, change func(*webhookdb.Webhook) error) (w webhookdb.Webhook, err error) {
	if !access.Storable(id) {
		return w, errNotFound(id)
	}
	err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if w, err = tx.LockWebhook(ctx, tenant, id); err != nil {
			return err
		}
		if err := change(&w); err != nil {
			return err
		}
		w.UpdateTime = s.store.Now()
		return tx.SaveWebhook(ctx, w)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return w, err
}

// Same reports whether two webhooks agree in all that their owner sets.
func Same(a, b webhookdb.Webhook) bool {
	return a.URL == b.URL && slices.Equal(a.Events, b.Events) && a.AgentID == b.AgentID && a.Description == b.Description &&
		a.Disabled == b.Disabled
}
