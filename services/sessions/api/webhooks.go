// Package api serves the sessions service's gRPC API: one small server for each gRPC service, which converts messages and calls the domain.
package api

import (
	"cmp"
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Webhooks implements WebhookService.
type Webhooks struct {
	sessionsv1.UnimplementedWebhookServiceServer
	webhooks *webhook.Service
}

// NewWebhooks serves webhooks.
func NewWebhooks(webhooks *webhook.Service) *Webhooks { return &Webhooks{webhooks: webhooks} }

// CreateWebhook implements WebhookService.
func (s *Webhooks) CreateWebhook(ctx context.Context, req *sessionsv1.CreateWebhookRequest) (*sessionsv1.Webhook, error) {
	w, key, err := s.webhooks.Create(ctx, convert.WebhookFromProto(ctx, req.GetWebhook()))
	if err != nil {
		return nil, err
	}
	out := webhookToProto(w)
	out.Secret = key.Reveal() // to its creator, this once
	return out, nil
}

// GetWebhook implements WebhookService.
func (s *Webhooks) GetWebhook(ctx context.Context, req *sessionsv1.GetWebhookRequest) (*sessionsv1.Webhook, error) {
	w, err := s.webhooks.Get(ctx, authn.Tenant(ctx), req.GetWebhookId())
	if err != nil {
		return nil, err
	}
	return webhookToProto(w), nil
}

// idCursor is the last row of a page of a list that is ordered by id.
type idCursor struct{ ID string }

// ListWebhooks implements WebhookService.
func (s *Webhooks) ListWebhooks(ctx context.Context, req *sessionsv1.ListWebhooksRequest) (*sessionsv1.ListWebhooksResponse, error) {
	const list = "webhooks"
	var after idCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.webhooks.List(ctx, authn.Tenant(ctx), after.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(w webhookdb.Webhook) any { return idCursor{w.ID} })
	out := &sessionsv1.ListWebhooksResponse{NextPageToken: next}
	for _, w := range rows {
		out.Webhooks = append(out.Webhooks, webhookToProto(w))
	}
	return out, nil
}

var webhookFields = fieldmask.Resource{
	Name: "webhook", Mutable: []string{"url", "events", "agent_id", "description", "disabled"}, Fixed: []string{"per_turn"},
}

// UpdateWebhook implements WebhookService.
func (s *Webhooks) UpdateWebhook(ctx context.Context, req *sessionsv1.UpdateWebhookRequest) (*sessionsv1.Webhook, error) {
	w, err := s.webhooks.Update(ctx, authn.Tenant(ctx), req.GetWebhook().GetId(), func(w *webhookdb.Webhook) error {
		want := webhookToProto(*w)
		if err := webhookFields.Apply(want, req.GetWebhook(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		convert.SetWebhook(w, want)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return webhookToProto(w), nil
}

// DeleteWebhook implements WebhookService.
func (s *Webhooks) DeleteWebhook(ctx context.Context, req *sessionsv1.DeleteWebhookRequest) (*sessionsv1.DeleteWebhookResponse, error) {
	if err := s.webhooks.Delete(ctx, authn.Tenant(ctx), req.GetWebhookId()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteWebhookResponse{}, nil
}

// RotateWebhook implements WebhookService.
func (s *Webhooks) RotateWebhook(ctx context.Context, req *sessionsv1.RotateWebhookRequest) (*sessionsv1.Webhook, error) {
	w, key, err := s.webhooks.Rotate(ctx, authn.Tenant(ctx), req.GetWebhookId(), req.GetRevokeOld())
	if err != nil {
		return nil, err
	}
	out := webhookToProto(w)
	out.Secret = key.Reveal() // to the caller, this once
	return out, nil
}

// ListWebhookDeliveries implements WebhookService.
func (s *Webhooks) ListWebhookDeliveries(ctx context.Context,
	req *sessionsv1.ListWebhookDeliveriesRequest,
) (*sessionsv1.ListWebhookDeliveriesResponse, error) {
	w, err := s.webhooks.Get(ctx, authn.Tenant(ctx), req.GetWebhookId())
	if err != nil {
		return nil, err
	}
	list := "deliveries/" + w.ID
	var before idCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	rows, err := s.webhooks.Deliveries(ctx, w, before.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(d webhookdb.Delivery) any { return idCursor{d.ID} })
	out := &sessionsv1.ListWebhookDeliveriesResponse{NextPageToken: next}
	for _, d := range rows {
		out.Deliveries = append(out.Deliveries, deliveryToProto(w, d))
	}
	return out, nil
}

// RedeliverWebhook implements WebhookService.
func (s *Webhooks) RedeliverWebhook(ctx context.Context, req *sessionsv1.RedeliverWebhookRequest) (*sessionsv1.WebhookDelivery, error) {
	w, d, err := s.webhooks.Redeliver(ctx, authn.Tenant(ctx), req.GetWebhookId(), req.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	return deliveryToProto(w, d), nil
}

func webhookToProto(w webhookdb.Webhook) *sessionsv1.Webhook {
	return &sessionsv1.Webhook{
		Id: w.ID, Url: w.URL, Events: w.Events, AgentId: w.AgentID, Description: w.Description, Disabled: w.Disabled, PerTurn: w.PerTurn,
		LastError: w.LastError, CreatedBy: w.CreatedBy, CreateTime: timestamp.Of(w.CreateTime), UpdateTime: timestamp.Of(w.UpdateTime),
	}
}

func deliveryToProto(w webhookdb.Webhook, d webhookdb.Delivery) *sessionsv1.WebhookDelivery {
	out := &sessionsv1.WebhookDelivery{
		Id: d.ID, WebhookId: d.WebhookID, TurnId: d.TurnID, Type: d.Type, Url: cmp.Or(d.URL, w.URL), Attempts: int32(d.Attempts),
		ResponseCode: int32(d.ResponseCode), Error: d.Error, CreateTime: timestamp.Of(d.CreateTime), EndTime: timestamp.Of(d.EndTime),
	}
	switch d.Status {
	case webhookdb.DeliveryPending:
		out.Status, out.NextAttemptTime = sessionsv1.DeliveryStatus_DELIVERY_STATUS_PENDING, timestamp.Of(d.NextAttempt)
	case webhookdb.DeliveryDelivered:
		out.Status = sessionsv1.DeliveryStatus_DELIVERY_STATUS_DELIVERED
	case webhookdb.DeliveryFailed:
		out.Status = sessionsv1.DeliveryStatus_DELIVERY_STATUS_FAILED
	}
	return out
}
