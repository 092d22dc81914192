package assembly

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/peercred"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// LoopbackLocal is the value of IdentityConfig.Loopback that treats callers from this machine as the local user.
const LoopbackLocal = "local"

// IdentityConfig configures who may call.
type IdentityConfig struct {
	// Loopback is LoopbackLocal or ""; see authn.Loopback.
	Loopback  string          `yaml:"loopback" doc:"local: processes of the operating-system user that Windlass runs as, on its machine, act as the user \"local\" without a token, where the kernel tells who calls (Linux). Empty: calls without a token are refused."`
	TokenFile string          `yaml:"token_file" doc:"File with a token whose bearer acts as the user \"local\". It is made if it does not exist; only its owner may read it (mode 0600). Empty: there is no such token. Default of windlass up: access.token in the data directory."`
	MCPLogin  bool            `yaml:"mcp_login" doc:"MCP clients have to log in: the gateway answers /mcp and what is below it with 401 to calls without a token, also where loopback would make them the user \"local\"."`
	Issuers   []bearer.Issuer `yaml:"issuers" doc:"Identity providers whose access tokens (JWT) are accepted as \"Authorization: Bearer TOKEN\", by the gateway and by the gRPC port of each role."`
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

// exchanging returns the names of the issuers at which the mesh can exchange tokens.
func (c IdentityConfig) exchanging() (names []string) {
	for _, i := range c.Issuers {
		if i.Exchange.Enabled() {
			names = append(names, i.Name)
		}
	}
	return names
}

// maxKeys bounds a response with an issuer's keys in bytes, and keysTimeout the time that it takes.
const (
	maxKeys     = 256 << 10
	keysTimeout = 5 * time.Second
)

// authenticator returns what authenticates callers from outside the mesh, and whether a connection on loopback can be enough for that. used
// is told of tokens, see bearer.Deps.
func (c IdentityConfig) authenticator(ctx context.Context, out *egress.Egress, log *slog.Logger,
	used func(context.Context, *policyv1.Principal, [sha256.Size]byte),
) (_ *authn.Authenticator, local bool, _ error) {
	var tokens []authn.TokenVerifier
	var opaque authn.TokenVerifier
	if len(c.Issuers) > 0 {
		v, err := bearer.New(c.Issuers, bearer.Deps{
			Client: out.Client(egress.Options{Timeout: keysTimeout, MaxResponseBytes: maxKeys}), Log: log, Used: used,
			Now: faultpoint.Clock(),
		})
		if err != nil {
			return nil, false, fmt.Errorf("identity.issuers: %w", err)
		}
		tokens, opaque = append(tokens, v), v.Opaque()
	}
	if c.TokenFile != "" {
		v, err := accesstoken.Open(c.TokenFile)
		if err != nil {
			return nil, false, fmt.Errorf("identity.token_file: %w", err)
		}
		tokens = append(tokens, v)
	}
	if opaque != nil { // recognizes whatever the others do not
		tokens = append(tokens, opaque)
	}
	var peers []authn.PeerVerifier
	switch c.Loopback {
	case "":
	case LoopbackLocal:
		var err error
		if local, err = peercred.Available(ctx); err != nil {
			return nil, false, fmt.Errorf("find out whether the kernel tells who calls: %w", err)
		}
		if !local {
			log.WarnContext(ctx, "the kernel does not tell who calls: calls without a token are refused", "token_file", c.TokenFile,
				"hint", "The command line reads the token by itself. Other programs send it as \"Authorization: Bearer TOKEN\".")
		}
		peers = append(peers, authn.Loopback{})
	default:
		return nil, false, fmt.Errorf("identity.loopback is %q: use %q or nothing", c.Loopback, LoopbackLocal)
	}
	return authn.NewAuthenticator(tokens, peers), local, nil
}
