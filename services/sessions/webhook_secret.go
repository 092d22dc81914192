package sessions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// secretPrefix begins signing secrets, as Standard Webhooks has it.
	secretPrefix = "whsec_"
	// oldSecretFor is how long, in microseconds, the secret before the last rotation signs too.
	oldSecretFor = 24 * 3600 * 1_000_000
)

// newSecret makes a signing secret.
func newSecret() secret.Value {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail
	return secret.New(secretPrefix + base64.StdEncoding.EncodeToString(key))
}

// sealer is the box in which secrets rest, nil without a key.
func sealer(cfg Config) (*seal.Box, error) {
	if cfg.SealKey.IsZero() {
		if len(cfg.OldSealKeys) > 0 {
			return nil, errors.New("sessions: old_seal_keys only open: set seal_key too")
		}
		return nil, nil //nolint:nilnil // no box is what no key gives
	}
	box, err := seal.New(cfg.SealKey, cfg.OldSealKeys...)
	if err != nil {
		return nil, fmt.Errorf("sessions: seal_key and old_seal_keys: %w", err)
	}
	return box, nil
}

func noSealKey() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "this mesh has no key under which to store a signing secret").
		Hint("Set sessions.seal_key (WINDLASS_SESSIONS_SEAL_KEY) to a secret of at least 32 characters, the same for all processes with the sessions role.")
}

// sealedFor names a webhook's secrets for the box.
func sealedFor(w store.Webhook) string { return w.Tenant + "/" + w.ID }

// giveSecret seals a new secret into a webhook and returns it. With keepOld the one before signs too for a day.
func (s *Service) giveSecret(w *store.Webhook, keepOld bool, nowUs int64) (secret.Value, error) {
	if s.hooks.box == nil {
		return secret.Value{}, noSealKey()
	}
	fresh := newSecret()
	w.OldSecret, w.OldUntilUs = nil, 0
	if keepOld {
		w.OldSecret, w.OldUntilUs = w.Secret, nowUs+oldSecretFor
	}
	w.Secret = s.hooks.box.Seal(fresh, sealedFor(*w))
	return fresh, nil
}

// signature is the header webhook-signature: one signature for each secret that is good now.
func (h *hooks) signature(w store.Webhook, id string, seconds int64, nowUs int64, body []byte) (string, error) {
	if h.box == nil {
		return "", errors.New("there is no key to open the signing secret with: set sessions.seal_key")
	}
	sealed := [][]byte{w.Secret}
	if w.OldUntilUs > nowUs {
		sealed = append(sealed, w.OldSecret)
	}
	var out []string
	for i, one := range sealed {
		key, err := h.box.Open(one, sealedFor(w))
		switch {
		case i > 0 && err != nil: // the new one is enough
		case errors.Is(err, seal.ErrOtherKey):
			return "", errors.New("the signing secret was sealed with another key than sessions.seal_key: put that into sessions.old_seal_keys, or give the webhook a new secret with :rotate")
		case err != nil:
			return "", fmt.Errorf("%w: give the webhook a new secret with :rotate", err)
		default:
			out = append(out, sign(key, id, seconds, body))
		}
	}
	return strings.Join(out, " "), nil
}

// sign signs as Standard Webhooks, symmetric version 1.
func sign(key secret.Value, id string, seconds int64, body []byte) string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Reveal(), secretPrefix))
	if err != nil { // it was made by newSecret
		return ""
	}
	mac := hmac.New(sha256.New, raw)
	_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(seconds, 10) + ".")) // a hash never fails to write
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
