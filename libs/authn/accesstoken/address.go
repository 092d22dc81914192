package accesstoken

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/secret"
)

// dataDir is the data directory that windlass up uses by default.
const dataDir = ".windlass"

// addressFile says where the server listens that accepts a token.
func addressFile(token string) string { return strings.TrimSuffix(token, ".token") + ".address" }

// Announce writes beside a token's file where the gateway listens that accepts the token, so that clients send it nowhere else. The
// returned function takes that back.
func Announce(path string, listener net.Addr) (withdraw func() error, err error) {
	file, text := addressFile(path), []byte(listener.String()+"\n")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("say where the access token is accepted: %w", err)
	}
	return func() error {
		now, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(now, text) {
			return nil // another process uses the file now
		}
		if err = errors.Join(err, os.Remove(file)); err != nil {
			return fmt.Errorf("the access token is accepted no more: %w", err)
		}
		return nil
	}, nil
}

// Find returns the token for a server, given by its URL: that of the data directory in the working directory, or in the nearest one above
// it, if its gateway listens on the server's port of this machine. The token is zero if there is none.
func Find(workingDir, server string) (secret.Value, error) {
	port, ok := loopbackPort(server)
	if !ok || !filepath.IsAbs(workingDir) {
		return secret.Value{}, nil
	}
	for dir := workingDir; ; dir = filepath.Dir(dir) {
		token := filepath.Join(dir, dataDir, File)
		if address, err := os.ReadFile(addressFile(token)); err == nil {
			if !listens(strings.TrimSpace(string(address)), port) {
				return secret.Value{}, nil
			}
			v, err := secret.ReadFile(token)
			if err != nil {
				return secret.Value{}, fmt.Errorf("access token: %w", err)
			}
			return v, nil
		}
		if dir == filepath.Dir(dir) {
			return secret.Value{}, nil
		}
	}
}

// loopbackPort returns the port of a server on this machine that is called without TLS.
func loopbackPort(server string) (port string, ok bool) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" || !authn.LoopbackName(u.Host) {
		return "", false
	}
	if u.Port() == "" {
		return "80", true
	}
	return u.Port(), true
}

// listens reports whether a listener's address is on a port of this machine.
func listens(address, port string) bool {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return false
	}
	_, at, err := net.SplitHostPort(address)
	return err == nil && at == port && (a.Addr().IsUnspecified() || a.Addr().Unmap().IsLoopback())
}
