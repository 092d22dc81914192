package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// forgetBatch is how many old deliveries are removed at once.
const forgetBatch = 1000

// ListWebhookDeliveries implements WebhookService.
func (s *Service) ListWebhookDeliveries(ctx context.Context, req *sessionsv1.ListWebhookDeliveriesRequest) (*sessionsv1.ListWebhookDeliveriesResponse, error) {
	w, err := s.webhook(ctx, req.GetWebhookId())
	if err != nil {
		return nil, err
	}
	list := "deliveries/" + w.ID
	var before webhookCursor
	size, err := pageOf(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Deliveries(ctx, w.Tenant, w.ID, before.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, size, list, func(d store.Delivery) any { return webhookCursor{d.ID} })
	out := &sessionsv1.ListWebhookDeliveriesResponse{NextPageToken: next}
	for _, d := range rows {
		out.Deliveries = append(out.Deliveries, deliveryToProto(w, d))
	}
	return out, nil
}

// RedeliverWebhook implements WebhookService.
func (s *Service) RedeliverWebhook(ctx context.Context, req *sessionsv1.RedeliverWebhookRequest) (*sessionsv1.WebhookDelivery, error) {
	id := req.GetDeliveryId()
	if !known(req.GetWebhookId() + id) {
		return nil, noWebhook(req.GetWebhookId())
	}
	var w store.Webhook
	var d store.Delivery
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if w, err = tx.LockWebhook(ctx, authn.Tenant(ctx), req.GetWebhookId()); errors.Is(err, store.ErrNotFound) {
			return noWebhook(req.GetWebhookId())
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
		now := s.store.NowUs()
		if d.Sending && d.NextUs > now {
			return nil // it is on its way
		}
		d.Status, d.Sending, d.NextUs, d.EndUs, d.GiveUpUs = store.DeliveryPending, false, now, 0, now+s.cfg.Webhooks.GiveUp.Microseconds()
		return tx.SaveDelivery(ctx, d)
	})
	if err != nil {
		return nil, err
	}
	s.hooks.kick()
	return deliveryToProto(w, d), nil
}

func deliveryToProto(w store.Webhook, d store.Delivery) *sessionsv1.WebhookDelivery {
	out := &sessionsv1.WebhookDelivery{
		Id: d.ID, WebhookId: d.WebhookID, TurnId: d.TurnID, Type: d.Type, Url: d.URL, Attempts: int32(d.Attempts),
		ResponseCode: int32(d.ResponseCode), Error: d.Error, CreateTime: stamp(d.CreateUs), EndTime: stamp(d.EndUs),
	}
	or(&out.Url, w.URL)
	switch d.Status {
	case store.DeliveryPending:
		out.Status, out.NextAttemptTime = "pending", stamp(d.NextUs)
	case store.DeliveryDelivered:
		out.Status = "delivered"
	default:
		out.Status = "failed"
	}
	return out
}

// forgetDeliveries removes what came to an end long ago.
func (s *Service) forgetDeliveries(ctx context.Context) error {
	return s.store.ForgetDeliveries(ctx, s.store.NowUs()-s.cfg.Webhooks.Keep.Microseconds(), forgetBatch)
}
