package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/hostname"
)

// Config configures the gateway.
type Config struct {
	// Addr is host:port of the HTTP listener, which the assembly opens.
	Addr string `yaml:"addr" default:"127.0.0.1:8080" doc:"Address of the HTTP API, host:port. Port 0 picks a free port."`
	// TLS is for clients that connect without a proxy in front.
	TLS          TLSConfig     `yaml:"tls"`
	URL          string        `yaml:"url" default:"http://127.0.0.1:8080" doc:"URL of this gateway for browsers and MCP clients, without a path: it is served at the root of a host. Tokens for an endpoint name it by this URL (RFC 8707), whatever host a request names. The Temporal UI links each turn to its timeline there; empty: no links. windlass up takes its own address."`
	Hosts        []string      `yaml:"hosts" doc:"Names by which clients call this gateway, without port, besides that in gateway.url, loopback and its own address; .example.com allows all below it, * everything. Requests for other names get 421: they come from pages that use DNS rebinding."`
	MaxBody      config.Size   `yaml:"max_body" default:"2MiB" doc:"Maximum size of a request body."`
	Timeout      time.Duration `yaml:"timeout" default:"75s" doc:"Timeout of one call (not a stream) without a Grpc-Timeout header."`
	MaxTimeout   time.Duration `yaml:"max_timeout" default:"10m" doc:"Longest timeout that a caller may set in Grpc-Timeout."`
	Heartbeat    time.Duration `yaml:"heartbeat" default:"15s" doc:"How often an idle event stream sends a comment, so that proxies keep it open."`
	WriteTimeout time.Duration `yaml:"write_timeout" default:"10s" doc:"Time a reader of an event stream has to read what is sent; a slower one is disconnected and resumes by cursor."`
	CORSOrigins  []string      `yaml:"cors_origins" doc:"Origins of web pages that may call the API from a browser, such as https://app.example.com. Empty: only the gateway's own."`
	LinkHosts    []string      `yaml:"link_hosts" doc:"Hosts to which answers in the console may link, without port; .example.com allows all below it, * everything. Addresses of other hosts are plain text, since a link or an image in an answer can carry away what the conversation holds. Images are never loaded. Empty: only the gateway's own."`
	// Login is the login of browsers.
	Login bff.Config `yaml:"login"`
	// TemporalUI and TemporalNamespace are set by the assembly: where the pages link a turn to its workflow. No UI means no links.
	TemporalUI, TemporalNamespace string `yaml:"-"`
	// TemporalTarget is set by the assembly: the URL of the UI that this gateway serves at TemporalUI, to those who may use it.
	TemporalTarget string `yaml:"-"`
	// Issuers and Scopes are set by the assembly: the URLs of those whose tokens are accepted, and what the tokens need.
	Issuers, Scopes []string `yaml:"-"`
	// MCPLogin is set by the assembly: MCP clients need a token, whatever their connection says.
	MCPLogin bool `yaml:"-"`
	// Recheck is how often the credentials of an open stream are verified again; 0 = the defaults. Tests set it.
	Recheck time.Duration `yaml:"-"`
}

// TLSConfig names the certificate of the HTTP listener.
type TLSConfig struct {
	Cert string `yaml:"cert" doc:"PEM file with the certificate of the HTTP listener and those of its authorities. Empty: HTTP in clear text, for this machine or behind a proxy that ends TLS. The files are read again when they change."`
	Key  string `yaml:"key" doc:"PEM file with the certificate's private key."`
}

// Scheme is that of the HTTP listener: http or https.
func (c Config) Scheme() string {
	if c.TLS != (TLSConfig{}) {
		return "https"
	}
	return "http"
}

// checkURL refuses what would work in part only: pages, logins and the metadata of MCP endpoints are at the root of a host.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("gateway.url %q is no http URL", text)
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return fmt.Errorf("gateway.url %q has more than a host: the gateway is served at the root of a host only. Give it a host name of its "+
			"own, such as %s://windlass.example.com", text, u.Scheme)
	}
	return nil
}

func (c Config) check() error {
	var errs []error
	if err := checkURL(c.URL); err != nil {
		errs = append(errs, err)
	}
	if c.Scheme() == "https" && strings.HasPrefix(c.URL, "http:") {
		errs = append(errs, fmt.Errorf("gateway.url is %s, but with gateway.tls browsers need an https address: set it to that", c.URL))
	}
	if _, err := hostname.New(c.LinkHosts...); err != nil {
		errs = append(errs, fmt.Errorf("gateway.link_hosts: %w", err))
	}
	if c.MaxBody < 1<<10 || c.MaxBody > 16<<20 {
		errs = append(errs, fmt.Errorf("gateway.max_body is %s: use 1KiB to 16MiB", c.MaxBody))
	}
	if c.Timeout <= 0 || c.MaxTimeout < c.Timeout {
		errs = append(errs, errors.New("gateway.timeout must be more than 0 and gateway.max_timeout no less than it"))
	}
	if c.Heartbeat <= 0 || c.WriteTimeout <= 0 {
		errs = append(errs, errors.New("gateway.heartbeat and gateway.write_timeout must be more than 0"))
	}
	return errors.Join(errs...)
}
