package assembly

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
)

// loopbackLocal is the value of IdentityConfig.Loopback that treats callers from this machine as the local user.
const loopbackLocal = "local"

// IdentityConfig configures who may call.
type IdentityConfig struct {
	// Loopback is loopbackLocal or "".
	Loopback string `yaml:"loopback" doc:"local: calls from this machine without a token act as the user \"local\". Empty: they are refused."`
	// Issuers are identity providers.
	Issuers []bearer.Issuer `yaml:"issuers" doc:"Identity providers whose access tokens (JWT) are accepted as \"Authorization: Bearer TOKEN\", by the gateway and by the gRPC port of each role."`
	// Issuer is the built-in one.
	Issuer account.Config `yaml:"issuer"`
}

// maxKeys bounds a response with an issuer's keys in bytes, and keysTimeout the time that it takes.
const (
	maxKeys     = 256 << 10
	keysTimeout = 5 * time.Second
)

// authenticator returns what authenticates callers from outside the mesh.
func (c IdentityConfig) authenticator(out *egress.Egress, log *slog.Logger) (*authn.Authenticator, error) {
	var tokens []authn.TokenVerifier
	if len(c.Issuers) > 0 {
		v, err := bearer.New(c.Issuers, bearer.Deps{
			Client: out.Client(egress.Options{Timeout: keysTimeout, MaxResponseBytes: maxKeys}), Log: log,
		})
		if err != nil {
			return nil, fmt.Errorf("identity.issuers: %w", err)
		}
		tokens = append(tokens, v)
	}
	var peers []authn.PeerVerifier
	switch c.Loopback {
	case "":
	case loopbackLocal:
		peers = append(peers, authn.Loopback{})
	default:
		return nil, fmt.Errorf("identity.loopback is %q: use %q or nothing", c.Loopback, loopbackLocal)
	}
	return authn.NewAuthenticator(tokens, peers), nil
}
