// Package hostname checks by which name a server is called. A web page that uses DNS rebinding reaches a server of the network that its
// visitor is in, but under the page's own name.
package hostname

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
)

// Any as a name allows all names.
const Any = "*"

// Names are the host names of a server. The zero value allows only those that Allow always allows.
type Names struct {
	any      bool
	exact    map[string]bool
	suffixes []string
}

// New returns the names of a list: names without a port, ".example.com" for all below example.com, addresses, or Any.
func New(list ...string) (Names, error) {
	n := Names{exact: map[string]bool{}}
	for _, name := range list {
		folded := fold(name)
		switch {
		case name == Any:
			n.any = true
		case folded == "" || strings.ContainsAny(folded, "/* \t@") || !isAddress(folded) && strings.ContainsRune(folded, ':'):
			return n, fmt.Errorf("host %q: want a name without port, such as windlass.example.com, .example.com for all below it, or %s", name, Any)
		case strings.HasPrefix(folded, "."):
			n.suffixes = append(n.suffixes, folded)
		default:
			n.exact[folded] = true
		}
	}
	return n, nil
}

// OfURL returns the host of a URL as a list; it is empty if there is none.
func OfURL(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}

// OfTarget returns the hosts of a gRPC target, such as "dns:///sessions:9091", or of a list of addresses.
func OfTarget(target string) []string {
	var out []string
	for addr := range strings.SplitSeq(target[strings.LastIndexByte(target, '/')+1:], ",") {
		host, _, err := net.SplitHostPort(strings.TrimSpace(addr))
		if err != nil {
			host = strings.TrimSpace(addr)
		}
		if host != "" {
			out = append(out, host)
		}
	}
	return out
}

// Allow reports whether a Host header or :authority, with or without a port, is one of the names. Names and addresses of loopback are
// always allowed, since no DNS server defines them, and so is the address that the connection was made to, local, which may be nil.
func (n Names) Allow(hostport string, local net.Addr) bool {
	if n.any {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = fold(host)
	if host == "" {
		return false
	}
	if n.exact[host] || authn.LoopbackName(host) {
		return true
	}
	for _, s := range n.suffixes {
		if strings.HasSuffix(host, s) {
			return true
		}
	}
	tcp, ok := local.(*net.TCPAddr)
	addr, err := netip.ParseAddr(host)
	return ok && err == nil && tcp.AddrPort().Addr().Unmap() == addr.Unmap()
}

func isAddress(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

// fold returns the one form of a host: in lower case, without the brackets of addresses and without the dot at the end.
func fold(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
