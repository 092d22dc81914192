package egress

import (
	"context"
	"net/netip"
	"strings"
)

// CheckHost tells early whether the host of a URL, without port, is one that would be refused when it is dialled: a *DeniedError for a literal
// address or localhost. A name says nothing before it is resolved, so nil promises nothing: what counts is the check at the moment of dialling.
func (e *Egress) CheckHost(host string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		name = "127.0.0.1"
	}
	addr, notLiteral := netip.ParseAddr(strings.Trim(name, "[]"))
	if notLiteral != nil {
		return nil //nolint:nilerr // a name, of which nothing is known yet
	}
	check := e.guard.check
	if e.guard.hostAllowed(host) {
		check = e.guard.checkMetadata
	}
	return check(withHost(context.Background(), host), "tcp", netip.AddrPortFrom(addr, 443).String(), nil)
}
