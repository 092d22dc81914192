// Package server has what the bridge knows of one MCP server before it connects: its entry, validated and with all references resolved,
// and the secrets that must not be in what the server says.
package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/redact"
)

// Kind is the kind of transport to a server.
type Kind string

// The kinds of transport.
const (
	HTTP  Kind = "http"
	SSE   Kind = "sse"
	Stdio Kind = "stdio"
)

// Spec is a server's validated entry with all references resolved, for one request. It is never modified after that.
type Spec struct {
	// ID identifies the server; Name is for people.
	ID, Name string
	// Kind is how the server is reached: at URL, or as a process.
	Kind Kind
	URL  string
	// Command, Env and Dir start a process.
	Command []string
	Env     map[string]string
	Dir     string
	// Headers are added to each HTTP request.
	Headers map[string]string
	// Credentials authorize HTTP requests.
	Credentials *credential.Set
	// ClientRequests are the kinds of the server's requests that callers may answer: sampling, roots.
	ClientRequests []string
	// ConnectTimeout bounds connecting and listing, CallTimeout one call.
	ConnectTimeout, CallTimeout time.Duration
	// Key is a hash of everything that requires another connection.
	Key string
	// User is for whom the request is made; nil = nobody in particular.
	User *outbound.User

	auth      *credential.Auth    // with a reference
	redact    func(string) string // removes secrets from texts
	withhold  func(string) string // removes the values of references from a tool's output
	withholds bool                // there are such values
	hidden    *redact.Recent      // values of provider data and tokens of users, which change
	concealed []string            // those of this request
}

// Place is that of the server's connection in the pool.
func (s *Spec) Place() string {
	if s.User == nil {
		return s.ID
	}
	return s.ID + "\x00" + s.User.Subject
}

// chooseTransport derives the transport from url and command, or validates the forced one.
func (s *Spec) chooseTransport(forced string, r *envref.Resolver) {
	switch {
	case s.URL == "" && len(s.Command) == 0:
		r.Refuse("server", "either url or command is needed")
		return
	case s.URL != "" && len(s.Command) > 0:
		r.Refuse("server", "url and command exclude each other")
		return
	case len(s.Command) > 0:
		s.Kind = Stdio
		if s.Command[0] == "" {
			r.Refuse("server.command", "the program's name is empty")
		}
	default:
		u, err := url.Parse(s.URL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			r.Refuse("server.url", "want an absolute http or https address")
			return
		}
		s.Kind = HTTP
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/sse") {
			s.Kind = SSE
		}
	}
	if forced == "" {
		return
	}
	if (Kind(forced) == Stdio) != (s.Kind == Stdio) {
		r.Refuse("server.transport", "stdio needs a command, http and sse need a url")
		return
	}
	s.Kind = Kind(forced)
}

// hash covers everything that requires another connection: not the display names, not the timeouts. Stored secrets may change.
func (s *Spec) hash(secrets []string) string {
	// Maps are encoded in the order of their keys, and strings always encode.
	text, err := json.Marshal([]any{s.Kind, s.URL, s.Command, s.Env, s.Dir, s.Headers, s.ClientRequests, s.auth, secrets})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
