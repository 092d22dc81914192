package peercred

import (
	"net"
	"net/netip"
	"strings"
)

// LoopbackName reports whether host, with or without a port, is a name or address that browsers never resolve by DNS to another machine:
// localhost, a name below it, or a loopback address. A page that uses DNS rebinding reaches a loopback port under its own name.
func LoopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
