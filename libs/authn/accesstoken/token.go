// Package accesstoken keeps the token that acts as the local user: in a file that only the operating-system user of Windlass can read. Who
// can read the file is that user, also where the kernel does not report the user at the other end of a connection.
package accesstoken

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// File is the name of the token's file in a data directory.
const File = "access.token"

// prefix begins each token. It has no dot, so that no token is a JWT.
const prefix = "wlt_"

// Token verifies one token. It is safe for concurrent use.
type Token struct{ digest [sha256.Size]byte }

var _ authn.TokenVerifier = (*Token)(nil)

// Open reads the token of a file, which it makes with a random one if there is none. Several processes may do so at the same time: all get
// the same token. The file must be readable by its owner only.
func Open(path string) (*Token, error) {
	value, err := secret.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(path); err == nil {
			value, err = secret.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("access token: %w", err)
	}
	if !valid(value) {
		return nil, fmt.Errorf("access token: %s holds no token of Windlass: remove it, and a new one is made", path)
	}
	return &Token{sha256.Sum256([]byte(value.Reveal()))}, nil
}

// valid reports whether a value has the form of a token.
func valid(v secret.Value) bool {
	digits, ok := strings.CutPrefix(v.Reveal(), prefix)
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == sha256.Size
}

// create makes the file, unless another process has just made it.
func create(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var random [sha256.Size]byte
	rand.Read(random[:])                              // never fails, see crypto/rand
	f, err := os.CreateTemp(dir, filepath.Base(path)) // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // its second name remains
	_, err = f.WriteString(prefix + hex.EncodeToString(random[:]) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Recognizes implements authn.TokenVerifier.
func (t *Token) Recognizes(token string) bool { return strings.HasPrefix(token, prefix) }

// Verify implements authn.TokenVerifier.
func (t *Token) Verify(_ context.Context, token, _ string) (*policyv1.Principal, error) {
	got := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(got[:], t.digest[:]) != 1 {
		return nil, fmt.Errorf("%w: it is not the access token of this process", authn.ErrToken)
	}
	return authn.Local(), nil
}
