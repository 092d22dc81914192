package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

// resealPage is how many webhooks are read at once.
const resealPage = 200

// reseal seals anew with the newest key what was sealed with an older one. Without older keys there is nothing that could be.
func (s *Service) reseal(ctx context.Context) error {
	if len(s.cfg.OldSealKeys) == 0 {
		return nil
	}
	done, lost := 0, 0
	var last store.Webhook
	for {
		rows, err := s.store.AllWebhooks(ctx, last.Tenant, last.ID, resealPage)
		if err != nil {
			return err
		}
		for _, w := range rows {
			if last = w; s.newest(w) {
				continue
			}
			switch ok, err := s.resealOne(ctx, w); {
			case err != nil:
				return err
			case ok:
				done++
			default:
				lost++
				s.log.WarnContext(ctx, "a webhook's secret was sealed with a key that is not here: add it to old_seal_keys, or rotate the secret",
					"tenant", w.Tenant, "webhook_id", w.ID)
			}
		}
		if len(rows) < resealPage {
			break
		}
	}
	if done > 0 || lost == 0 {
		s.log.InfoContext(ctx, "secrets of webhooks are sealed with seal_key", "sealed_anew", done, "lost", lost)
	}
	return nil
}

// newest tells whether a webhook needs none of the older keys.
func (s *Service) newest(w store.Webhook) bool {
	return s.hooks.box.Newest(w.Secret) && (len(w.OldSecret) == 0 || s.hooks.box.Newest(w.OldSecret))
}

// resealOne seals one webhook's secrets anew, and says whether it could. A secret before the last rotation that does not open is dropped: it signs
// nothing anyway.
func (s *Service) resealOne(ctx context.Context, seen store.Webhook) (ok bool, err error) {
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		w, err := tx.LockWebhook(ctx, seen.Tenant, seen.ID)
		if errors.Is(err, store.ErrNotFound) {
			ok = true // deleted meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		key, err := s.hooks.box.Open(w.Secret, sealedFor(w))
		if ok = err == nil; !ok {
			return nil
		}
		w.Secret = s.hooks.box.Seal(key, sealedFor(w))
		old, err := s.hooks.box.Open(w.OldSecret, sealedFor(w))
		if w.OldSecret = nil; err == nil {
			w.OldSecret = s.hooks.box.Seal(old, sealedFor(w))
		}
		return tx.SaveWebhook(ctx, w)
	})
	return ok, err
}
