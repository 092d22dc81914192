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
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	if err != nil {
		return nil // a name
	}
	check := e.guard.check
	if e.guard.hostAllowed(host) {
		check = e.guard.checkMetadata
	}
	return check(withHost(context.Background(), host), "tcp", netip.AddrPortFrom(addr, 443).String(), nil)
}
