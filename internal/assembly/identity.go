package assembly

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/peercred"
)

// loopbackLocal is the value of IdentityConfig.Loopback that treats callers from this machine as the local user.
const loopbackLocal = "local"

// IdentityConfig configures who may call.
type IdentityConfig struct {
	// Loopback is loopbackLocal or ""; see authn.Loopback.
	Loopback string `yaml:"loopback" doc:"local: processes of the operating-system user that Windlass runs as, on its machine, act as the user \"local\" without a token. Where the kernel does not tell who calls (all but Linux), any process on the machine does, and a warning is logged. Empty: calls without a token are refused."`
	// MCPLogin has MCP clients log in.
	MCPLogin bool `yaml:"mcp_login" doc:"MCP clients have to log in: the gateway answers /mcp and what is below it with 401 to calls without a token, also where loopback would make them the user \"local\"."`
	// Issuers are identity providers.
	Issuers []bearer.Issuer `yaml:"issuers" doc:"Identity providers whose access tokens (JWT) are accepted as \"Authorization: Bearer TOKEN\", by the gateway and by the gRPC port of each role."`
	// Issuer is the built-in one.
	Issuer account.Config `yaml:"issuer"`
}

// authorization returns the URLs of the issuers, and all scopes that tokens need.
func (c IdentityConfig) authorization() (issuers, scopes []string) {
	for _, i := range c.Issuers {
		issuers = append(issuers, i.Issuer)
		scopes = append(scopes, i.Scopes...)
	}
	slices.Sort(scopes)
	return issuers, slices.Compact(scopes)
}

// maxKeys bounds a response with an issuer's keys in bytes, and keysTimeout the time that it takes.
const (
	maxKeys     = 256 << 10
	keysTimeout = 5 * time.Second
)

// authenticator returns what authenticates callers from outside the mesh.
func (c IdentityConfig) authenticator(ctx context.Context, out *egress.Egress, log *slog.Logger) (*authn.Authenticator, error) {
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
		sameUser, err := peercred.Available(ctx)
		if err != nil {
			return nil, fmt.Errorf("find out whether the kernel tells who calls: %w", err)
		}
		if !sameUser {
			log.WarnContext(ctx, "the kernel does not tell who calls: every account on this machine acts as the local user",
				"hint", "On a machine with other accounts, set identity.loopback to nothing and use tokens.")
		}
		peers = append(peers, authn.Loopback{SameUser: sameUser})
	default:
		return nil, fmt.Errorf("identity.loopback is %q: use %q or nothing", c.Loopback, loopbackLocal)
	}
	return authn.NewAuthenticator(tokens, peers), nil
}
