package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

const (
	// secretPrefix begins signing secrets, as in Standard Webhooks.
	secretPrefix = "whsec_"
	// previousSecretValid is how long the secret before a rotation signs as well.
	previousSecretValid = 24 * time.Hour
)

// keyring signs deliveries with secrets that are stored sealed. Its box is nil where no seal key is configured.
type keyring struct{ box *seal.Box }

func newKeyring(key secret.Value, old []secret.Value) (keyring, error) {
	if key.IsZero() {
		if len(old) > 0 {
			return keyring{}, errors.New("sessions: old_seal_keys only open: set seal_key too")
		}
		return keyring{}, nil
	}
	box, err := seal.New(key, old...)
	if err != nil {
		return keyring{}, fmt.Errorf("sessions: seal_key and old_seal_keys: %w", err)
	}
	return keyring{box}, nil
}

func errNoSealKey() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "this mesh has no key under which to store a signing secret").
		Hint("Set sessions.seal_key (WINDLASS_SESSIONS_SEAL_KEY) to a secret of at least 32 characters, the same for all processes with the " +
			"sessions role.")
}

// sealContext binds a sealed secret to its webhook.
func sealContext(w webhookdb.Webhook) string { return w.Tenant + "/" + w.ID }

// newSecret generates a signing secret.
func newSecret() secret.Value {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail
	return secret.New(secretPrefix + base64.StdEncoding.EncodeToString(key))
}

// rotate seals a new secret into w and returns it. With keepPrevious the current one stays valid for a day.
func (k keyring) rotate(w *webhookdb.Webhook, keepPrevious bool, now time.Time) (secret.Value, error) {
	if k.box == nil {
		return secret.Value{}, errNoSealKey()
	}
	fresh := newSecret()
	previous := w.Secret
	w.PreviousSecret, w.PreviousExpiry = nil, time.Time{}
	if keepPrevious {
		w.PreviousSecret, w.PreviousExpiry = previous, now.Add(previousSecretValid)
	}
	w.Secret = k.box.Seal(fresh, sealContext(*w))
	return fresh, nil
}

// signature returns the header webhook-signature: one signature for each secret that is valid now.
func (k keyring) signature(w webhookdb.Webhook, deliveryID string, now time.Time, body []byte) (string, error) {
	if k.box == nil {
		return "", errors.New("there is no key to open the signing secret with: set sessions.seal_key")
	}
	sealed := [][]byte{w.Secret}
	if w.PreviousExpiry.After(now) {
		sealed = append(sealed, w.PreviousSecret)
	}
	var signatures []string
	for i, s := range sealed {
		key, err := k.box.Open(s, sealContext(w))
		switch {
		case i > 0 && err != nil: // the current secret suffices
		case errors.Is(err, seal.ErrOtherKey):
			return "", errors.New("the signing secret was sealed with another key than sessions.seal_key: put that into sessions.old_seal_keys, " +
				"or give the webhook a new secret with :rotate")
		case err != nil:
			return "", fmt.Errorf("%w: give the webhook a new secret with :rotate", err)
		default:
			signatures = append(signatures, sign(key, deliveryID, now.Unix(), body))
		}
	}
	return strings.Join(signatures, " "), nil
}

// sign computes a symmetric signature, version 1, as specified by Standard Webhooks: HMAC-SHA256 over "id.timestamp.body".
func sign(key secret.Value, id string, seconds int64, body []byte) string {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Reveal(), secretPrefix))
	if err != nil { // newSecret made it
		return ""
	}
	mac := hmac.New(sha256.New, raw)
	_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(seconds, 10) + ".")) // a hash never fails to write
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
