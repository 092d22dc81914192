package grpccall

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Server is where a gRPC server listens.
type Server struct {
	// Address is host:port, Secure means TLS.
	Address string
	Secure  bool
}

// ParseURL reads "grpc://host:port", or "grpcs://host:port" for TLS. If it cannot, wrong says what to write.
func ParseURL(text string) (s Server, wrong string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return s, "give the server as grpc://host:port, or grpcs://host:port with TLS"
	case err != nil || u.Scheme != "grpc" && u.Scheme != "grpcs":
		return s, "the URL must be grpc://host:port, or grpcs://host:port with TLS"
	case u.User != nil:
		return s, "credentials do not belong into the URL; use auth, or headers with ${env:NAME}"
	case u.Hostname() == "":
		return s, "the URL has no host: want " + u.Scheme + "://host:port"
	case u.Port() == "":
		return s, "the URL has no port, and gRPC has no default one: want " + u.Scheme + "://host:port"
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return s, "the URL has no path, query or fragment: select services with operations"
	}
	if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
		return s, "the port must be between 1 and 65535"
	}
	return Server{Address: net.JoinHostPort(u.Hostname(), u.Port()), Secure: u.Scheme == "grpcs"}, ""
}
