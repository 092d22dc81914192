package webhook

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

// resealPage is the number of webhooks read at once.
const resealPage = 200

// reseal seals with the current key what an older key sealed. Without older keys nothing can need it.
func (s *Service) reseal(ctx context.Context) error {
	if !s.hasOldKeys {
		return nil
	}
	done, unreadable := 0, 0
	var last webhookdb.Webhook
	for {
		page, err := s.store.AllWebhooks(ctx, last.Tenant, last.ID, resealPage)
		if err != nil {
			return err
		}
		for _, w := range page {
			if last = w; s.keys.current(w) {
				continue
			}
			switch ok, err := s.resealOne(ctx, w); {
			case err != nil:
				return err
			case ok:
				done++
			default:
				unreadable++
				s.log.WarnContext(ctx, "no configured key opens a webhook's secret: add its key to old_seal_keys, or rotate the secret",
					"tenant", w.Tenant, "webhook_id", w.ID)
			}
		}
		if len(page) < resealPage {
			break
		}
	}
	if done > 0 || unreadable == 0 {
		s.log.InfoContext(ctx, "secrets of webhooks are sealed with seal_key", "resealed", done, "unreadable", unreadable)
	}
	return nil
}

// current reports whether no secret of w needs an older key.
func (k keyring) current(w webhookdb.Webhook) bool {
	return k.box.Newest(w.Secret) && (len(w.PreviousSecret) == 0 || k.box.Newest(w.PreviousSecret))
}

// reseal seals the secrets of w with the current key and reports whether the signing secret could be opened. A previous secret
// that cannot is dropped: it signs nothing anyway.
func (k keyring) reseal(w *webhookdb.Webhook) bool {
	key, err := k.box.Open(w.Secret, sealContext(*w))
	if err != nil {
		return false
	}
	w.Secret = k.box.Seal(key, sealContext(*w))
	previous, err := k.box.Open(w.PreviousSecret, sealContext(*w))
	if w.PreviousSecret = nil; err == nil {
		w.PreviousSecret = k.box.Seal(previous, sealContext(*w))
	}
	return true
}

func (s *Service) resealOne(ctx context.Context, seen webhookdb.Webhook) (ok bool, err error) {
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		w, err := tx.LockWebhook(ctx, seen.Tenant, seen.ID)
		if errors.Is(err, store.ErrNotFound) {
			ok = true // deleted since
			return nil
		}
		if err != nil {
			return err
		}
		if ok = s.keys.reseal(&w); !ok {
			return nil
		}
		return tx.SaveWebhook(ctx, w)
	})
	return ok, err
}
