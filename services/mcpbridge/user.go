package mcpbridge

import (
	"errors"
	"net/http"
	"strings"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

// resolve validates a server's entry, and opens the token of the user for whom the request is made. Connections of users are apart: a
// session is that of its user.
func (s *Service) resolve(p *mcpbridgev1.Server) (*spec, error) {
	sp, err := newSpec(p, s.cfg, s.programs, s.credentials, s.secrets)
	if err != nil || p.GetUser() == "" {
		return sp, err
	}
	d, err := s.sealer.Open(p.GetUserToken(), providerdata.OfServer(sp.id))
	if err != nil {
		return nil, err
	}
	token, ok := d.Text("user_token")
	if !ok {
		return nil, fault.Invalid("server.user_token", "there is no token of the user")
	}
	sp.user = outbound.NewUser(p.GetUser(), token.Reveal())
	sp.key += "/" + p.GetUser()
	sp.conceal([]string{token.Reveal()})
	return sp, nil
}

// conceal hides values in all that the server says in answer to this request.
func (s *spec) conceal(values []string) {
	if len(values) == 0 {
		return
	}
	hide, redact, withhold := envref.Redactor(values), s.redact, s.withhold
	s.redact = func(text string) string { return hide(redact(text)) }
	s.withhold = func(text string) string { return hide(withhold(text)) }
	s.withholds = true
	s.concealed = append(s.concealed, values...)
}

// place is that of the server's connection in the pool.
func (s *spec) place() string {
	if s.user == nil {
		return s.id
	}
	return s.id + "\x00" + s.user.Subject
}

// markRefused adds to a fault that the server refused the user's token, or its scopes, before it did anything.
func (s *spec) markRefused(f *fault.Error, err error) *fault.Error {
	e, ok := errors.AsType[*sendError](err)
	switch {
	case !ok || s.user == nil:
	case e.scopes != nil:
		f.Details = map[string]string{"scopes_wanted": strings.Join(*e.scopes, " ")}
	case e.status == http.StatusUnauthorized:
		f.Details = map[string]string{"token_refused": "true"}
	}
	return f
}
