package assembly

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
)

// loopbackLocal is the value of IdentityConfig.Loopback that treats callers from this machine as the local user.
const loopbackLocal = "local"

// IdentityConfig configures who may call.
type IdentityConfig struct {
	// Loopback is loopbackLocal or "".
	Loopback string `yaml:"loopback" doc:"local: calls from this machine without a token act as the user \"local\". Empty: they are refused."`
}

// authenticator returns what authenticates callers from outside the mesh.
func (c IdentityConfig) authenticator() (*authn.Authenticator, error) {
	var peers []authn.PeerVerifier
	switch c.Loopback {
	case "":
	case loopbackLocal:
		peers = append(peers, authn.Loopback{})
	default:
		return nil, fmt.Errorf("identity.loopback is %q: use %q or nothing", c.Loopback, loopbackLocal)
	}
	return authn.NewAuthenticator(nil, peers), nil
}
