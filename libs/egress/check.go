package egress

import (
	"context"
	"net/netip"
	"strings"
)

// CheckHost returns a *DeniedError if the host of a URL (without port) is localhost or a literal address that may not be dialled. It
// returns nil for any other name, which is resolved and checked only when it is dialled.
func (e *Egress) CheckHost(host string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		name = "127.0.0.1"
	}
	addr, notLiteral := netip.ParseAddr(strings.Trim(name, "[]"))
	if notLiteral != nil {
		return nil //nolint:nilerr // a name, not resolved yet
	}
	check := e.guard.check
	if e.guard.hostAllowed(host) {
		check = e.guard.checkMetadata
	}
	return check(withHost(context.Background(), host), "tcp", netip.AddrPortFrom(addr, 443).String(), nil)
}
