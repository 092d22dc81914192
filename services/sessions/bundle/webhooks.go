package bundle

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// planWebhook compares a webhook with the one that there is. It becomes exactly what the document says, but for being disabled
// when the document does not mention it: an address that was disabled because it is gone stays so.
func (s *Service) planWebhook(ctx context.Context, d *Document) (planned, error) {
	old, err := s.deps.Webhooks.Get(ctx, authn.Tenant(ctx), d.ID())
	if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		return s.planNewWebhook(ctx, d.Webhook)
	}
	if err != nil {
		return planned{}, err
	}
	p := planned{action: Unchanged, permission: "sessions.webhooks.update"}
	revise := func(w webhookdb.Webhook) (webhookdb.Webhook, error) {
		before := w
		if !d.Has("disabled") {
			d.Webhook.Disabled = w.Disabled
		}
		w.PerTurn = d.Webhook.GetPerTurn()
		convert.SetWebhook(&w, d.Webhook)
		return w, s.deps.Webhooks.Revise(before, &w)
	}
	if now, err := revise(old); err != nil || webhook.Same(now, old) {
		return p, err
	}
	p.action = Updated
	p.write = func(ctx context.Context, tx *store.Tx, _ *Applied) error {
		w, err := tx.LockWebhook(ctx, old.Tenant, old.ID)
		if err != nil {
			return err
		}
		if w, err = revise(w); err != nil {
			return err
		}
		w.UpdateTime = s.deps.Store.Now()
		return tx.SaveWebhook(ctx, w)
	}
	return p, nil
}

func (s *Service) planNewWebhook(ctx context.Context, want *sessionsv1.Webhook) (planned, error) {
	p := planned{action: Created, permission: "sessions.webhooks.create"}
	w, key, err := s.deps.Webhooks.New(convert.WebhookFromProto(ctx, want))
	p.write = func(ctx context.Context, tx *store.Tx, out *Applied) error {
		out.Secret = key
		return s.deps.Webhooks.Add(ctx, tx, w)
	}
	return p, err
}
