package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// changeHook locks a webhook, has it changed and saves it.
func (s *Service) changeHook(ctx context.Context, id string, change func(w *store.Webhook, nowUs int64) error) (*sessionsv1.Webhook, error) {
	if !known(id) {
		return nil, noWebhook(id)
	}
	var w store.Webhook
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if w, err = tx.LockWebhook(ctx, authn.Tenant(ctx), id); err != nil {
			return err
		}
		now := s.store.NowUs()
		if err := change(&w, now); err != nil {
			return err
		}
		w.UpdateUs = now
		return tx.SaveWebhook(ctx, w)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noWebhook(id)
	}
	if err != nil {
		return nil, err
	}
	return webhookToProto(w), nil
}

// UpdateWebhook implements WebhookService.
func (s *Service) UpdateWebhook(ctx context.Context, req *sessionsv1.UpdateWebhookRequest) (*sessionsv1.Webhook, error) {
	return s.changeHook(ctx, req.GetWebhook().GetId(), func(w *store.Webhook, _ int64) error {
		want := webhookToProto(*w)
		if err := changeWebhook(want, req.GetWebhook(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		return s.reviseWebhook(w, want)
	})
}

// reviseWebhook makes a webhook what it is wanted to be. What was wrong with another address, or before it was enabled again, is forgotten.
func (s *Service) reviseWebhook(w *store.Webhook, want *sessionsv1.Webhook) error {
	if w.Disabled && !want.GetDisabled() || w.URL != want.GetUrl() {
		w.LastError = ""
	}
	return s.setWebhook(w, want)
}

// changeWebhook copies the fields that paths name; without paths those that are set. What a caller may not change must be as it is.
func changeWebhook(to, from *sessionsv1.Webhook, paths []string) error {
	set := len(paths) > 0 // a mask clears what is not set
	if !set || len(paths) == 1 && paths[0] == "*" {
		paths = []string{"url", "events", "agent_id", "description", "disabled", "per_turn"}
	}
	for _, path := range paths {
		switch path {
		case "url":
			copyIf(&to.Url, from.GetUrl(), set)
		case "events":
			if set || len(from.GetEvents()) > 0 {
				to.Events = from.GetEvents()
			}
		case "agent_id":
			copyIf(&to.AgentId, from.GetAgentId(), set)
		case "description":
			copyIf(&to.Description, from.GetDescription(), set)
		case "disabled":
			copyIf(&to.Disabled, from.GetDisabled(), set)
		case "per_turn":
			if from.GetPerTurn() != to.GetPerTurn() && (set || from.GetPerTurn()) {
				return perTurnFixed(to.GetPerTurn())
			}
		case "id", "last_error", "created_by", "create_time", "update_time", "secret": // a caller may send back what he read
		default:
			return fault.Invalid("update_mask", "%q: there is no such field", path)
		}
	}
	return nil
}

func perTurnFixed(is bool) error {
	return fault.Invalid("webhook.per_turn", "is %t and cannot be changed: make another webhook", is)
}

// sameWebhook tells whether a webhook is as its owner wants it already.
func sameWebhook(a, b store.Webhook) bool {
	return a.URL == b.URL && a.Events == b.Events && a.AgentID == b.AgentID && a.Description == b.Description && a.Disabled == b.Disabled
}

// RotateWebhook implements WebhookService.
func (s *Service) RotateWebhook(ctx context.Context, req *sessionsv1.RotateWebhookRequest) (*sessionsv1.Webhook, error) {
	var shown string
	out, err := s.changeHook(ctx, req.GetWebhookId(), func(w *store.Webhook, nowUs int64) error {
		fresh, err := s.giveSecret(w, !req.GetRevokeOld(), nowUs)
		shown = fresh.Reveal() // to who asked for it, this once
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Secret = shown
	return out, nil
}
