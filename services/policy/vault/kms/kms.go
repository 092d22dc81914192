// Package kms has a master key in the transit engine of HashiCorp Vault or OpenBao: keysets are encrypted and decrypted there, and the key
// never leaves it.
package kms

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// Scheme begins the URI of a key, as in Tink: hcvault://HOST:PORT/MOUNT/keys/NAME.
	Scheme = "hcvault"
	// Timeout bounds one call. A write of a secret may wait for it while it holds a lock.
	Timeout = 5 * time.Second
	// MaxResponse bounds a response in bytes.
	MaxResponse = 1 << 20
)

// Key is a key in a transit engine. It is safe for concurrent use.
type Key struct {
	// encrypt and decrypt are the URLs of the two calls.
	encrypt, decrypt string
	host             string
	token            func() (secret.Value, error)
	client           *http.Client
}

var _ keyset.Master = (*Key)(nil)

// New returns the key that a URI names. token is asked at each call, since tokens are renewed. It makes no call.
func New(uri string, token func() (secret.Value, error), client *http.Client) (*Key, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != Scheme || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("want %s://HOST:PORT/MOUNT/keys/NAME", Scheme)
	}
	mount, name, ok := strings.Cut(strings.Trim(u.Path, "/"), "/keys/")
	if !ok || mount == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("want %s://HOST:PORT/MOUNT/keys/NAME", Scheme)
	}
	at := func(call string) string {
		return (&url.URL{Scheme: "https", Host: u.Host, Path: "/v1/" + mount + "/" + call + "/" + name}).String()
	}
	return &Key{encrypt: at("encrypt"), decrypt: at("decrypt"), host: u.Host, token: token, client: client}, nil
}

// Seal implements keyset.Master. The context is the associated data, which the engine supports for AES-GCM and ChaCha20 keys.
func (k *Key) Seal(plain []byte, context string) ([]byte, error) {
	out, err := k.call(k.encrypt, map[string]string{"plaintext": encode(plain), "associated_data": encode([]byte(context))})
	if err == nil && !strings.HasPrefix(out.Ciphertext, "vault:") {
		err = errors.New("its answer has no ciphertext")
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt at the key management service %s: %w", k.host, err)
	}
	return []byte(out.Ciphertext), nil
}

// Open implements keyset.Master.
func (k *Key) Open(sealed []byte, context string) ([]byte, error) {
	if !bytes.HasPrefix(sealed, []byte("vault:")) { // of a master key that is no key of an engine
		return nil, errors.New("not a ciphertext of a transit engine")
	}
	out, err := k.call(k.decrypt, map[string]string{"ciphertext": string(sealed), "associated_data": encode([]byte(context))})
	if err != nil {
		return nil, fmt.Errorf("decrypt at the key management service %s: %w", k.host, err)
	}
	plain, err := base64.StdEncoding.DecodeString(out.Plaintext)
	if err != nil || len(plain) == 0 {
		return nil, fmt.Errorf("the key management service %s answers without a plaintext", k.host)
	}
	return plain, nil
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// data is what the engine answers.
type data struct {
	Ciphertext string `json:"ciphertext"`
	Plaintext  string `json:"plaintext"`
}

// call makes one call. keyset.ErrAway means that another one may succeed.
func (k *Key) call(address string, body map[string]string) (data, error) {
	token, err := k.token()
	if err != nil {
		return data{}, fmt.Errorf("%w: its token cannot be read: %w", keyset.ErrAway, err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return data{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout) // keysets are opened for all callers, not for one
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		return data{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Vault-Request", "true")
	req.Header.Set("X-Vault-Token", token.Reveal())
	resp, err := k.client.Do(req)
	if err != nil {
		return data{}, fmt.Errorf("%w: %w", keyset.ErrAway, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as it counts
	var answer struct {
		Data   data     `json:"data"`
		Errors []string `json:"errors"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	switch {
	case resp.StatusCode == http.StatusOK && err == nil:
		return answer.Data, nil
	case resp.StatusCode == http.StatusBadRequest: // a ciphertext of another key, or one that was changed
		return data{}, fmt.Errorf("refused: %s", strings.Join(answer.Errors, "; "))
	}
	return data{}, fmt.Errorf("%w: status %d: %s", keyset.ErrAway, resp.StatusCode, strings.Join(answer.Errors, "; "))
}
