package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard checks addresses when they are dialled, after name resolution.
type guard struct {
	profile  string
	allow    []netip.Prefix
	addrs    []netip.AddrPort
	hosts    []string
	metadata []netip.Prefix
	public   *ssrf.Guardian
}

func newGuard(cfg Config) (*guard, error) {
	if !slices.Contains([]string{Local, Public, Cluster}, cfg.Profile) {
		return nil, fmt.Errorf("egress profile %q: want %s, %s or %s", cfg.Profile, Local, Public, Cluster)
	}
	g := &guard{profile: cfg.Profile, public: ssrf.New(ssrf.WithAnyPort()), metadata: metadataPrefixes(), addrs: cfg.AllowAddrs}
	for _, p := range cfg.Allow {
		if !p.IsValid() {
			return nil, errors.New("egress: an allowed address range is not valid")
		}
		g.allow = append(g.allow, p.Masked())
	}
	for _, h := range cfg.AllowHosts {
		if h = strings.ToLower(strings.TrimSuffix(h, ".")); h == "" || h == "." || strings.ContainsAny(h, "/:* ") {
			return nil, fmt.Errorf("egress: allowed host %q: want a host name without scheme and port, or .suffix", h)
		}
		g.hosts = append(g.hosts, h)
	}
	return g, nil
}

// metadataPrefixes returns the addresses at which clouds serve credentials without authentication, and all link-local addresses.
func metadataPrefixes() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// hostAllowed reports whether a name is in AllowHosts.
func (g *guard) hostAllowed(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, h := range g.hosts {
		if host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h) {
			return true
		}
	}
	return false
}

// checkMetadata is the dialer's hook for names in AllowHosts.
func (g *guard) checkMetadata(ctx context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := parse(address)
	if err != nil {
		return err
	}
	return g.denyMetadata(ctx, addr)
}

// check is the dialer's hook for all other names.
func (g *guard) check(ctx context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := parse(address)
	if err != nil {
		return err
	}
	if err := g.denyMetadata(ctx, addr); err != nil {
		return err
	}
	if g.allowed(address, addr) {
		return nil
	}
	switch g.profile {
	case Local:
		if addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return g.denied(ctx, addr, "multicast and broadcast addresses are never dialled")
		}
		return nil
	case Public:
		if g.public.SafeAddr(addr) != nil {
			return g.denied(ctx, addr,
				"it is not a public address: add its range to egress.allow or the host to egress.allow_hosts if that is intended")
		}
		return nil
	default:
		return g.denied(ctx, addr, "add its range to egress.allow or the host to egress.allow_hosts if that is intended")
	}
}

// allowed reports whether the configuration names an address.
func (g *guard) allowed(address string, addr netip.Addr) bool {
	if len(g.addrs) > 0 {
		ap, err := netip.ParseAddrPort(address)
		if err == nil && slices.Contains(g.addrs, netip.AddrPortFrom(addr, ap.Port())) {
			return true
		}
	}
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// denyMetadata also checks the IPv4 addresses embedded in IPv6 transition addresses.
func (g *guard) denyMetadata(ctx context.Context, addr netip.Addr) error {
	for _, a := range append(embedded(addr), addr) {
		for _, p := range g.metadata {
			if p.Contains(a) {
				return g.denied(ctx, addr, "link-local and cloud metadata addresses are never dialled")
			}
		}
	}
	return nil
}

// parse reads the address that the dialer is about to connect to, which is always a literal one.
func parse(address string) (netip.Addr, error) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("check address: %w", err)
	}
	return ap.Addr().Unmap().WithZone(""), nil
}

// embedded returns the IPv4 addresses that an IPv6 address may stand for: NAT64, 6to4 or IPv4-compatible. In the local-use NAT64 range each
// network chooses the prefix length, and so the position of the address (RFC 8215, RFC 6052).
func embedded(a netip.Addr) []netip.Addr {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	v4 := func(at ...int) netip.Addr { return netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}) }
	switch {
	case nat64.Contains(a), netip.PrefixFrom(netip.IPv6Unspecified(), 96).Contains(a):
		return []netip.Addr{v4(12, 13, 14, 15)}
	case localNAT64.Contains(a):
		return []netip.Addr{v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12), v4(12, 13, 14, 15)}
	case b[0] == 0x20 && b[1] == 0x02:
		return []netip.Addr{v4(2, 3, 4, 5)}
	}
	return nil
}

var nat64, localNAT64 = netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48")

func (g *guard) denied(ctx context.Context, addr netip.Addr, hint string) error {
	return &DeniedError{Host: hostOf(ctx), Addr: addr, Profile: g.profile, Hint: hint}
}
