package mcpbridge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/process"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/redact"
)

// transportKind is the kind of transport to a server.
type transportKind string

const (
	overHTTP  transportKind = "http"
	overSSE   transportKind = "sse"
	overStdio transportKind = "stdio"
)

// spec is a server's validated entry with all references resolved. It is never modified.
type spec struct {
	id, name       string
	kind           transportKind
	url            string
	command        []string
	env            map[string]string
	dir            string
	headers        map[string]string
	auth           *credential.Auth // with a reference
	credentials    *credential.Set
	clientRequests []string // that callers may answer
	connectTimeout time.Duration
	callTimeout    time.Duration
	key            string              // hash of everything that requires another connection
	redact         func(string) string // removes secrets from texts
	withhold       func(string) string // removes the values of references from a tool's output
	withholds      bool                // there are such values
	hidden         *redact.Recent      // values of provider data and tokens of users, which change
	concealed      []string            // those of this request
	user           *outbound.User      // for whom the request is made; nil = nobody in particular
}

// newSpec validates a server's entry and resolves it. Errors are INVALID_ARGUMENT and name the fields.
func newSpec(s *mcpbridgev1.Server, cfg Config, programs *process.Programs, keeper *credential.Keeper, secrets envref.Vault,
) (*spec, error) {
	r := envref.New(references(cfg, secrets), s.GetTenant())
	sp := &spec{
		id: s.GetId(), name: s.GetName(), url: s.GetUrl(), command: s.GetCommand(), dir: s.GetDir(),
		env: map[string]string{}, headers: map[string]string{}, clientRequests: s.GetClientRequests(),
		connectTimeout: timeout(s.GetConnectTimeout(), s.GetConnectTimeoutMs(), cfg.ConnectTimeout),
		callTimeout:    timeout(s.GetCallTimeout(), s.GetCallTimeoutMs(), cfg.CallTimeout),
	}
	if sp.name == "" {
		sp.name = sp.id
	}
	sp.chooseTransport(s.GetTransport(), r)
	for name, value := range s.GetEnv() {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			r.Refuse("server.env", "a name must not be empty or hold =, and neither name nor value a NUL")
			continue
		}
		sp.env[name] = r.Resolve("server.env["+name+"]", value)
	}
	if sp.kind == overStdio && sp.command[0] != "" {
		sp.allow(programs, r)
	}
	for name, value := range s.GetHeaders() {
		value = r.Resolve("server.headers["+name+"]", value)
		canonical := http.CanonicalHeaderKey(name)
		if message := wrongHeader(name, value); message != "" {
			r.Refuse("server.headers["+name+"]", message)
			continue
		}
		if len(value) >= 8 { // shorter ones are words, and would garble every text
			r.Hide(value)
		}
		sp.headers[canonical] = value
	}
	sp.authorize(s.GetAuth(), r, keeper)
	switch {
	case r.Err != nil:
		return nil, r.Err
	case len(r.Wrong) > 0:
		return nil, fault.InvalidFields(r.Wrong)
	}
	conceal := envref.Redactor(r.Secrets)
	sp.hidden = &redact.Recent{}
	sp.redact = func(text string) string { return sp.hidden.Hide(conceal(sp.credentials.Hide(text))) }
	sp.withhold, sp.withholds = sp.credentials.Hide, len(r.Values) > 0 || sp.auth != nil
	sp.key = sp.hash(r.Values)
	return sp, nil
}

// allow refuses a program that the operator's list does not have.
func (s *spec) allow(programs *process.Programs, r *envref.Resolver) {
	if _, err := programs.Find(s.command, s.dir, s.env); errors.Is(err, process.ErrNotAllowed) {
		r.Refuse("server.command", err.Error()+": an operator adds it to mcpbridge.programs in the configuration of the mcpbridge role")
	}
}

// references says which variables of the bridge may be referenced.
func references(cfg Config, secrets envref.Vault) envref.Config {
	return envref.Config{Allow: cfg.EnvAllow, Owner: "bridge", Setting: "mcpbridge.env_allow", Vault: secrets}
}

// wrongHeader says why a header cannot be set; empty if it can.
func wrongHeader(name, value string) string {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
		return "not a valid HTTP header"
	case canonical == outbound.KeyHeader:
		return "each call has a key of its own, which this header carries"
	case strings.HasPrefix(canonical, "Mcp-") || canonical == "Content-Type" || canonical == "Accept" || canonical == "Content-Length":
		return "this header is the protocol's own"
	}
	return ""
}

// authorize resolves the server's credential.
func (s *spec) authorize(a *mcpbridgev1.Auth, r *envref.Resolver, keeper *credential.Keeper) {
	o := credential.Owner{ID: s.id, Path: "server"}
	if a != nil {
		o.Auth = &credential.Auth{
			Kind: a.GetKind(), In: a.GetIn(), Name: a.GetName(), Secret: a.GetSecret(), Username: a.GetUsername(), TokenURL: a.GetTokenUrl(),
			ClientID: a.GetClientId(), Scopes: a.GetScopes(), Audience: a.GetAudience(),
		}
		if s.kind == overStdio {
			r.Refuse("server.auth", "a program has no auth; use its env")
		}
		if message := wrongHeader(a.GetName(), ""); a.GetKind() == credential.APIKey && message != "" {
			r.Refuse("server.auth.name", message)
		}
	}
	s.auth, s.credentials = o.Auth, keeper.Resolve(r, o)
}

// chooseTransport derives the transport from url and command, or validates the forced one.
func (s *spec) chooseTransport(forced string, r *envref.Resolver) {
	switch {
	case s.url == "" && len(s.command) == 0:
		r.Refuse("server", "either url or command is needed")
		return
	case s.url != "" && len(s.command) > 0:
		r.Refuse("server", "url and command exclude each other")
		return
	case len(s.command) > 0:
		s.kind = overStdio
		if s.command[0] == "" {
			r.Refuse("server.command", "the program's name is empty")
		}
	default:
		u, err := url.Parse(s.url)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			r.Refuse("server.url", "want an absolute http or https address")
			return
		}
		s.kind = overHTTP
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/sse") {
			s.kind = overSSE
		}
	}
	if forced == "" {
		return
	}
	if (transportKind(forced) == overStdio) != (s.kind == overStdio) {
		r.Refuse("server.transport", "stdio needs a command, http and sse need a url")
		return
	}
	s.kind = transportKind(forced)
}

// hash covers everything that requires another connection: not the display names, not the timeouts. Stored secrets may change.
func (s *spec) hash(secrets []string) string {
	// Maps are encoded in the order of their keys, and strings always encode.
	text, err := json.Marshal([]any{s.kind, s.url, s.command, s.env, s.dir, s.headers, s.clientRequests, s.auth, secrets})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// timeout is what a registry asks for, those of earlier versions in milliseconds, or else the default.
func timeout(d *durationpb.Duration, ms int32, def time.Duration) time.Duration {
	if d.AsDuration() > 0 {
		return d.AsDuration()
	}
	return cmp.Or(time.Duration(max(0, ms))*time.Millisecond, def)
}
