package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// removeBatch is the number of old deliveries removed at once.
const removeBatch = 1000

// Deliveries returns at most limit deliveries of a webhook, newest first, older than the given id; "" begins with the newest.
func (s *Service) Deliveries(ctx context.Context, w webhookdb.Webhook, before string, limit int) ([]webhookdb.Delivery, error) {
	return s.store.Deliveries(ctx, w.Tenant, w.ID, before, limit)
}

// Redeliver makes a delivery due now, whatever became of it, and retries it from now on for as long as a new one. One that is
// being sent is left as it is.
func (s *Service) Redeliver(ctx context.Context, tenant, webhookID, id string) (w webhookdb.Webhook, d webhookdb.Delivery, err error) {
	if !access.Storable(webhookID + id) {
		return w, d, errNotFound(webhookID)
	}
	err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if w, err = tx.LockWebhook(ctx, tenant, webhookID); errors.Is(err, store.ErrNotFound) {
			return errNotFound(webhookID)
		} else if err != nil {
			return err
		}
		if w.Disabled {
			return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "webhook %s is disabled", w.ID).
				Hint("Enable it first: windlass webhook update %s --disabled=false", w.ID)
		}
		if d, err = tx.LockDelivery(ctx, w.Tenant, w.ID, id); errors.Is(err, store.ErrNotFound) {
			return fault.NotFound("webhook %s has no delivery %q", w.ID, id)
		} else if err != nil {
			return err
		}
		now := s.store.Now()
		if d.Sending && d.NextAttempt.After(now) {
			return nil
		}
		d.Status, d.Sending, d.NextAttempt, d.EndTime, d.GiveUp = webhookdb.DeliveryPending, false, now, time.Time{}, now.Add(s.cfg.GiveUp)
		return tx.SaveDelivery(ctx, d)
	})
	if err == nil {
		s.sender.trigger()
	}
	return w, d, err
}

func (s *Service) removeOldDeliveries(ctx context.Context) error {
	return s.store.RemoveDeliveries(ctx, s.store.Now().Add(-s.cfg.Keep), removeBatch)
}
