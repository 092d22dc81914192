package bus

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// signatureHeader carries a message's signature between processes. Older processes ignore it.
	signatureHeader = "Windlass-Signature"
	// keyPurpose separates the bus key from other keys derived from the same secret.
	keyPurpose = "windlass bus 1"
	// warnEvery is the minimum interval between warnings about wrong signatures.
	warnEvery = 10 * time.Second
)

// signer signs and verifies messages, so that access to the bus is not enough to inject one. A signature covers subject and data, so a
// message is not valid on another subject. It does not prevent replays: receivers drop messages they have already seen.
type signer struct {
	key []byte
	log *slog.Logger

	refused atomic.Int64 // since the last warning
	warned  atomic.Int64 // time of the last warning, in Unix nanoseconds
}

func newSigner(secret []byte, log *slog.Logger) (*signer, error) {
	if len(secret) < 16 {
		return nil, fmt.Errorf("the bus's key has %d bytes; at least 16 are needed", len(secret))
	}
	key, err := hkdf.Key(sha256.New, secret, nil, keyPurpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the bus's key: %w", err)
	}
	return &signer{key: key, log: log}, nil
}

func (s *signer) signature(subject string, data []byte) string {
	mac := hmac.New(sha256.New, s.key)
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(subject)))
	mac.Write(size[:])
	mac.Write([]byte(subject))
	mac.Write(data)
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

// sign returns the message to send over the network.
func (s *signer) sign(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{signatureHeader: {s.signature(subject, data)}}}
}

// genuine reports whether a message on a subject was signed with our key.
func (s *signer) genuine(subject string, m *nats.Msg) bool {
	signatures := m.Header[signatureHeader]
	if len(signatures) == 1 && hmac.Equal([]byte(signatures[0]), []byte(s.signature(subject, m.Data))) {
		return true
	}
	s.refused.Add(1)
	if now, last := time.Now().UnixNano(), s.warned.Load(); now-last > int64(warnEvery) && s.warned.CompareAndSwap(last, now) {
		s.log.Warn("messages on the bus are not signed with this mesh's key and were dropped: another mesh.key, or another program "+
			"on the bus", "subject", subject, "messages", s.refused.Swap(0))
	}
	return false
}
