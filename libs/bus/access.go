package bus

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// Values of Config.Credentials that name no file.
const (
	// MeshCredentials prove that this process has the Key, to a server that has it too. The connection uses TLS.
	MeshCredentials = "mesh"
	// NoCredentials are none but what is in the URL.
	NoCredentials = "none"
)

// Purposes separate the keys that are derived from one secret.
const (
	clientPurpose = "windlass bus client 1"
	routePurpose  = "windlass bus route 1"
	routeUser     = "windlass"
)

// tlsTimeout is generous: a process that starts is busy.
const tlsTimeout = 10.0 // seconds

// clientKey derives the key pair by which clients identify themselves: a server gets the public half and a signature of its challenge.
func clientKey(secret []byte) (nkeys.KeyPair, error) {
	seed, err := derive(secret, clientPurpose)
	if err != nil {
		return nil, err
	}
	raw, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, seed)
	if err != nil {
		return nil, fmt.Errorf("derive the bus's credentials: %w", err)
	}
	pair, err := nkeys.FromSeed(raw)
	if err != nil {
		return nil, fmt.Errorf("derive the bus's credentials: %w", err)
	}
	return pair, nil
}

// derive returns 32 bytes that only holders of the secret know.
func derive(secret []byte, purpose string) ([]byte, error) {
	if len(secret) < 16 {
		return nil, fmt.Errorf("the bus's key has %d bytes; at least 16 are needed", len(secret))
	}
	out, err := hkdf.Key(sha256.New, secret, nil, purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the bus's credentials: %w", err)
	}
	return out, nil
}

// identity returns the option by which a client proves that it has the secret.
func identity(secret []byte) (nats.Option, error) {
	pair, err := clientKey(secret)
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("derive the bus's credentials: %w", err)
	}
	return nats.Nkey(public, pair.Sign), nil
}

// access returns the options by which a client identifies itself and protects its connection.
func (cfg Config) access() ([]nats.Option, error) {
	source, opts := cfg.TLS, []nats.Option{nats.IgnoreAuthErrorAbort()} // a server may get our key later
	switch cfg.Credentials {
	case "", MeshCredentials:
		who, err := identity(cfg.Key)
		if err != nil {
			return nil, err
		}
		opts = append(opts, who)
		if source == nil {
			if source, err = meshtls.FromKey(cfg.Key); err != nil {
				return nil, err
			}
		}
	case NoCredentials:
	default:
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	if source == nil {
		return opts, nil
	}
	secure, err := meshtls.Client(source)
	if err != nil {
		return nil, err
	}
	return append(opts, nats.Secure(secure)), nil
}

// secure makes a server that listens accept only clients and nodes that have the key, over TLS.
func (cfg ServerConfig) secure(opts *server.Options) error {
	pair, err := clientKey(cfg.Key)
	if err != nil {
		return err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return fmt.Errorf("derive the bus's credentials: %w", err)
	}
	source := cfg.TLS
	if source == nil {
		if source, err = meshtls.FromKey(cfg.Key); err != nil {
			return err
		}
	}
	opts.Nkeys = []*server.NkeyUser{{Nkey: public}}
	opts.TLSConfig, opts.TLSTimeout, opts.TLSVerify = meshtls.Server(source), tlsTimeout, true
	if cfg.Cluster.Listen == "" {
		return nil
	}
	password, err := cfg.routePassword()
	if err != nil {
		return err
	}
	opts.Cluster.Username, opts.Cluster.Password = routeUser, password
	opts.Cluster.TLSConfig, err = meshtls.Peer(source)
	opts.Cluster.TLSTimeout = tlsTimeout
	return err
}

// routePassword is what the nodes of a cluster show each other.
func (cfg ServerConfig) routePassword() (string, error) {
	raw, err := derive(cfg.Key, routePurpose)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// refusals returns a handler of errors of connection attempts. From time to time, it logs that the server does not accept us.
func refusals(log *slog.Logger) nats.ConnErrHandler {
	var last time.Time // the client calls its handlers one after the other
	return func(_ *nats.Conn, err error) {
		if action := explainRefusal(err); action != "" && time.Since(last) > warnEvery {
			last = time.Now()
			log.Error("the bus does not accept this process", "error", err, "action", action)
		}
	}
}

// explainRefusal says what to do about an error of a connection attempt that lasts until the configuration is changed.
func explainRefusal(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		alert     tls.AlertError
	)
	switch {
	case errors.Is(err, nats.ErrNkeysNotSupported), errors.Is(err, nats.ErrSecureConnWanted):
		return "this is no bus of the mesh: for another NATS server set bus.credentials to none or to the path of a .creds file"
	case errors.Is(err, nats.ErrAuthorization), errors.As(err, &authority), errors.As(err, &name), errors.As(err, &alert):
		return "all processes of a mesh need the same mesh.key; another NATS server needs its own bus.credentials"
	}
	return ""
}
