// Package rpc connects the roles of the mesh: one server with all interceptors, and one way to dial, over TCP or in memory. The network is
// the only difference between one process and many.
package rpc

import (
	"fmt"
	"io"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// Network connects roles.
type Network interface {
	// Listen returns the listener of a role. Each role listens at most once in a process.
	Listen(role string) (net.Listener, error)
	// dial returns a connection to a role. It does not check that the role is served.
	dial(role string, c caller) (Conn, error)
}

// Conn is a connection to a role. It is safe for concurrent use.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}

// TCP is a network between processes.
type TCP struct {
	// Listeners maps the roles of this process to the addresses they listen on.
	Listeners map[string]string
	// Targets maps a role to its address: "host:port", several separated by commas, or any gRPC target such as "dns:///sessions:9090". Calls
	// are balanced over all reachable addresses.
	Targets map[string]string
	// TLS secures connections to other processes; nil leaves them in clear text.
	TLS meshtls.Source
}

// Listen implements Network.
func (n TCP) Listen(role string) (net.Listener, error) {
	addr, ok := n.Listeners[role]
	if !ok {
		return nil, fmt.Errorf("no listen address is configured for role %q: set mesh.listen.%s", role, role)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("role %s cannot listen on %s (is another process using the port?): %w", role, addr, err)
	}
	return l, nil
}

// dial implements Network.
func (n TCP) dial(role string, c caller) (Conn, error) {
	target, ok := n.Targets[role]
	if !ok {
		return nil, fmt.Errorf("no address is configured for role %q: set mesh.targets.%s", role, role)
	}
	transport, err := clientTransport(n.TLS, role)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", role, err)
	}
	options := append(c.options(), grpc.WithTransportCredentials(transport))
	if strings.Contains(target, ",") {
		replicas, err := listResolver(target)
		if err != nil {
			return nil, fmt.Errorf("mesh.targets.%s: %w", role, err)
		}
		target, options = replicas.Scheme()+":///"+role, append(options, grpc.WithResolvers(replicas))
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, fmt.Errorf("dial %s at %s: %w", role, target, err)
	}
	return conn, nil
}

// listResolver resolves a target to the addresses of a list such as "a:9091,b:9091".
func listResolver(list string) (resolver.Builder, error) {
	var state resolver.State
	for addr := range strings.SplitSeq(list, ",") {
		addr = strings.TrimSpace(addr)
		if _, _, err := net.SplitHostPort(addr); err != nil || strings.Contains(addr, "/") {
			return nil, fmt.Errorf("%q in a list of addresses: want host:port", addr)
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	r := manual.NewBuilderWithScheme("list")
	r.InitialState(state)
	return r, nil
}
