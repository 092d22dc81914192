package server

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/libs/providerdata"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/redact"
)

// Resolver resolves the entries of servers.
type Resolver struct {
	// Env says which variables and stored secrets may be referenced.
	Env envref.Config
	// Programs are those that may be started.
	Programs *process.Programs
	// Credentials keeps the access tokens of servers.
	Credentials *credential.Keeper
	// Sealer opens the credentials of requests; nil refuses them.
	Sealer *providerdata.Sealer
	// ConnectTimeout and CallTimeout are for servers whose entries set none.
	ConnectTimeout, CallTimeout time.Duration
}

// Resolve validates a server's entry, and opens the token of the user for whom the request is made. Connections of users are apart: a
// session is that of its user. Errors are INVALID_ARGUMENT and name the fields.
func (r *Resolver) Resolve(p *mcpbridgev1.Server) (*Spec, error) {
	sp, err := r.resolve(p)
	if err != nil || p.GetUser() == "" {
		return sp, err
	}
	d, err := r.Sealer.Open(p.GetUserToken(), providerdata.OfServer(sp.ID))
	if err != nil {
		return nil, err
	}
	token, ok := d.Text("user_token")
	if !ok {
		return nil, fault.Invalid("server.user_token", "there is no token of the user")
	}
	sp.User = outbound.NewUser(p.GetUser(), token.Reveal())
	sp.Key += "/" + p.GetUser()
	sp.conceal([]string{token.Reveal()})
	return sp, nil
}

// resolve validates a server's entry and resolves its references.
func (r *Resolver) resolve(s *mcpbridgev1.Server) (*Spec, error) {
	refs := envref.New(r.Env, s.GetTenant())
	sp := &Spec{
		ID: s.GetId(), Name: cmp.Or(s.GetName(), s.GetId()), URL: s.GetUrl(), Command: s.GetCommand(), Dir: s.GetDir(),
		Env: map[string]string{}, Headers: map[string]string{}, ClientRequests: s.GetClientRequests(),
		ConnectTimeout: cmp.Or(s.GetConnectTimeout().AsDuration(), r.ConnectTimeout),
		CallTimeout:    cmp.Or(s.GetCallTimeout().AsDuration(), r.CallTimeout),
	}
	sp.chooseTransport(s.GetTransport(), refs)
	for name, value := range s.GetEnv() {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			refs.Refuse("server.env", "a name must not be empty or hold =, and neither name nor value a NUL")
			continue
		}
		sp.Env[name] = refs.Resolve("server.env["+name+"]", value)
	}
	if sp.Kind == Stdio && sp.Command[0] != "" {
		r.allow(sp, refs)
	}
	for name, value := range s.GetHeaders() {
		value = refs.Resolve("server.headers["+name+"]", value)
		canonical := http.CanonicalHeaderKey(name)
		if message := wrongHeader(name, value); message != "" {
			refs.Refuse("server.headers["+name+"]", message)
			continue
		}
		if len(value) >= 8 { // shorter ones are words, and would garble every text
			refs.Hide(value)
		}
		sp.Headers[canonical] = value
	}
	r.authorize(sp, s.GetAuth(), refs)
	switch {
	case refs.Err != nil:
		return nil, refs.Err
	case len(refs.Wrong) > 0:
		return nil, fault.InvalidFields(refs.Wrong)
	}
	conceal := envref.Redactor(refs.Secrets)
	sp.hidden = &redact.Recent{}
	sp.redact = func(text string) string { return sp.hidden.Hide(conceal(sp.Credentials.Hide(text))) }
	sp.withhold, sp.withholds = sp.Credentials.Hide, len(refs.Values) > 0 || sp.auth != nil
	sp.Key = sp.hash(refs.Values)
	return sp, nil
}

// allow refuses a program that the operator's list does not have.
func (r *Resolver) allow(s *Spec, refs *envref.Resolver) {
	if _, err := r.Programs.Find(s.Command, s.Dir, s.Env); errors.Is(err, process.ErrNotAllowed) {
		refs.Refuse("server.command", err.Error()+": an operator adds it to mcpbridge.programs in the configuration of the mcpbridge role")
	}
}

// authorize resolves the server's credential.
func (r *Resolver) authorize(s *Spec, a *mcpbridgev1.Auth, refs *envref.Resolver) {
	o := credential.Owner{ID: s.ID, Path: "server"}
	if a != nil {
		o.Auth = &credential.Auth{
			Kind: a.GetKind(), In: a.GetIn(), Name: a.GetName(), Secret: a.GetSecret(), Username: a.GetUsername(), TokenURL: a.GetTokenUrl(),
			ClientID: a.GetClientId(), Scopes: a.GetScopes(), Audience: a.GetAudience(),
		}
		if s.Kind == Stdio {
			refs.Refuse("server.auth", "a program has no auth; use its env")
		}
		if message := wrongHeader(a.GetName(), ""); a.GetKind() == credential.APIKey && message != "" {
			refs.Refuse("server.auth.name", message)
		}
	}
	s.auth, s.Credentials = o.Auth, r.Credentials.Resolve(refs, o)
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
