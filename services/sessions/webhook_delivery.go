package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxTold bounds the part of an answer that webhooks are sent, in bytes.
	maxTold = 64 << 10
	// forgetBatch is how many old deliveries are removed at once.
	forgetBatch = 1000
)

// tellWebhooks has the webhooks told of a turn that ends, in the transaction that ends it: both stand, or neither.
func (s *Service) tellWebhooks(tx *journal.Tx, t store.Turn, end *turnv1.TurnEnded) error {
	if t.AgentPath != "" {
		return nil // a sub-agent's; the turn that began it is told of
	}
	ctx := tx.Context()
	hooks, err := tx.ToldOf(ctx, t.Tenant, t.AgentID)
	if err != nil {
		return err
	}
	signer, own, err := tx.TakeTurnWebhook(ctx, t.Tenant, t.ID)
	if err != nil {
		return err
	}
	if own != "" {
		hooks = append(hooks, signer)
	}
	typ := "turn." + statusNames[end.GetStatus()]
	hooks = slices.DeleteFunc(hooks, func(w store.Webhook) bool {
		return w.Events != "" && !slices.Contains(strings.Split(w.Events, ","), typ)
	})
	if len(hooks) == 0 {
		return nil
	}
	body, err := toldBody(typ, t, end)
	if err != nil {
		return err
	}
	for _, w := range hooks {
		d := store.Delivery{
			Tenant: t.Tenant, ID: ids.New(ids.Delivery), WebhookID: w.ID, TurnID: t.ID, SessionID: t.SessionID, Type: typ, Body: body,
			NextUs: tx.NowUs, GiveUpUs: tx.NowUs + s.cfg.Webhooks.GiveUp.Microseconds(), CreateUs: tx.NowUs,
		}
		if w.PerTurn {
			d.URL = own
		}
		if err := tx.AddDelivery(ctx, d); err != nil {
			return err
		}
	}
	tx.After(func(context.Context) { s.hooks.kick() })
	return nil
}

// toldBody is what webhooks are sent of a turn.
func toldBody(typ string, t store.Turn, end *turnv1.TurnEnded) ([]byte, error) {
	m := &sessionsv1.WebhookEvent{Type: typ, Timestamp: stamp(t.EndUs), Data: &sessionsv1.WebhookTurn{
		TurnId: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Subject: t.Subject, Status: statusNames[end.GetStatus()],
		StopReason: end.GetStopReason(), Output: end.GetOutput(), Error: end.GetError(), Usage: end.GetUsage(), ToolsUsed: end.GetToolsUsed(),
		CreateTime: stamp(t.CreateUs), StartTime: stamp(t.StartUs), EndTime: stamp(t.EndUs), LastSeq: t.LastSeq,
	}}
	if len(m.GetData().GetOutput()) > maxTold {
		m.Data.Output, m.Data.OutputTruncated = strings.ToValidUTF8(m.GetData().GetOutput()[:maxTold], ""), true
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("webhook body of turn %s: %w", t.ID, err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil { // protojson puts in spaces at random
		return nil, fmt.Errorf("webhook body of turn %s: %w", t.ID, err)
	}
	return out.Bytes(), nil
}

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
		now := micros()
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
	return s.store.ForgetDeliveries(ctx, micros()-s.cfg.Webhooks.Keep.Microseconds(), forgetBatch)
}
