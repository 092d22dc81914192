//go:build !linux

package peercred

import (
	"net"
	"net/netip"
)

// ask cannot tell here; see Available.
func ask(net.Conn, netip.AddrPort, netip.AddrPort) seen { return seen{} }
