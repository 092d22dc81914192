package assembly

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/libs/egress"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
)

// Limits of calls to the issuer at which browsers log in.
const (
	loginTimeout = 10 * time.Second
	maxLogin     = 1 << 20
)

// newLogin returns what logs browsers in, nil if the configuration names no issuer. policy is a connection as the gateway.
func (p *Process) newLogin(policy gateway.Conn) (*bff.BFF, error) {
	if !p.cfg.Gateway.Login.Enabled() {
		return nil, nil
	}
	b, err := bff.New(p.cfg.Gateway.Login, bff.Deps{
		URL: p.cfg.Gateway.URL, Logins: loginv1.NewLoginServiceClient(policy), Key: p.cfg.Mesh.Key, Authenticator: p.authenticator, Log: p.log,
		Client: p.issuers.Client(egress.Options{Timeout: loginTimeout, MaxResponseBytes: maxLogin}),
	})
	if err != nil {
		return nil, fmt.Errorf("gateway.login: %w", err)
	}
	return b, nil
}
