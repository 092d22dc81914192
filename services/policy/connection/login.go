package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/policy/connection/discovery"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

// resolve completes how users log in at a source with what its authorization server says.
func (c *Connections) resolve(ctx context.Context, tenant string, l Login) (store.Login, error) {
	out := l.Stored
	out.Redirect, out.Destination = c.redirect(), l.Destination
	var err error
	switch {
	case out.AuthorizationURL != "":
		out.IssuerRequired = out.Issuer != ""
	default:
		err = c.discover(ctx, tenant, l, &out)
	}
	if err == nil && out.ClientID == "" {
		err = errors.New("there is no client_id")
	}
	if err != nil {
		if f := fault.As(err); f != nil {
			return out, f
		}
		reason := faultv1.Reason_REASON_FAILED_PRECONDITION
		if errors.Is(err, egress.ErrDenied) {
			reason = faultv1.Reason_REASON_EGRESS_DENIED
		}
		return out, fault.FailedPrecondition(reason, "it cannot be found out how to log in at source %q: %s", l.Source,
			truncate.Bytes(strings.ToValidUTF8(err.Error(), "\uFFFD"), 500)).
			Hint("Set authorization_url, token_url and client_id in the source's auth, or issuer and client_id.")
	}
	return out, nil
}

// discover reads the metadata of the authorization server.
func (c *Connections) discover(ctx context.Context, tenant string, l Login, out *store.Login) error {
	issuer := out.Issuer
	if issuer == "" {
		if l.ServerURL == "" {
			return errors.New("it has neither authorization_url nor issuer")
		}
		r, err := c.found.Protected(ctx, l.ServerURL)
		if err != nil {
			return err
		}
		issuer = r.Servers[0]
		if out.Resource == "" {
			out.Resource = r.Resource
		}
		if len(out.Scopes) == 0 {
			out.Scopes = r.Scopes
		}
	}
	s, err := c.found.Server(ctx, issuer)
	if err != nil {
		return err
	}
	if out.Resource == "" && l.ServerURL != "" {
		out.Resource = l.ServerURL
	}
	out.Scopes = lasting(out.Scopes, len(l.Stored.Scopes) == 0, s)
	out.InBody = out.InBody || s.OnlyInBody()
	out.Issuer, out.IssuerRequired = s.Issuer, s.NamesIssuer
	out.AuthorizationURL, out.TokenURL = s.AuthorizationEndpoint, s.TokenEndpoint
	if out.RevocationURL == "" {
		out.RevocationURL = s.RevocationEndpoint
	}
	if out.ClientID != "" {
		return nil
	}
	return c.client(ctx, tenant, s, out)
}

// client chooses a client for a source that names none: the URL of a document about this one, or a registered one.
func (c *Connections) client(ctx context.Context, tenant string, s discovery.Server, out *store.Login) error {
	if s.TakesDocuments && strings.HasPrefix(c.cfg.URL, "https://") {
		out.ClientID = strings.TrimSuffix(c.cfg.URL, "/") + ClientPath
		return nil
	}
	if s.RegistrationEndpoint == "" {
		return errors.New("its authorization server does not register clients by itself: register one there, and set client_id")
	}
	out.Registered = true
	have, secret, err := c.deps.Store.Client(ctx, tenant, s.Issuer, out.Redirect)
	if err == nil {
		out.ClientID, out.InBody = have.ID, have.Method == discovery.InBody
		return nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read client: %w", err)
	}
	about := discovery.Describe(out.Redirect)
	about.Method = s.Method()
	made, err := c.found.Register(ctx, s.RegistrationEndpoint, about)
	if err != nil {
		return err
	}
	if made.Method != discovery.Public {
		secret = made.Secret
	}
	own := store.Client{Tenant: tenant, Issuer: s.Issuer, Redirect: out.Redirect, ID: made.ID, Method: cmp.Or(made.Method, about.Method)}
	if err := c.deps.Store.AddClient(ctx, own, secret); err != nil {
		return fmt.Errorf("store client: %w", err)
	}
	if have, _, err = c.deps.Store.Client(ctx, tenant, s.Issuer, out.Redirect); err != nil { // another replica may have been faster
		return fmt.Errorf("read client: %w", err)
	}
	out.ClientID, out.InBody = have.ID, have.Method == discovery.InBody
	return nil
}

// lasting adds the scope for which OpenID Connect servers issue refresh tokens, if the server has it and the source's definition leaves the
// scopes to it: turns outlive access tokens. Where no scopes are requested, the server chooses them all.
func lasting(scopes []string, open bool, s discovery.Server) []string {
	if !open || len(scopes) == 0 || !slices.Contains(s.Scopes, offline) || slices.Contains(scopes, offline) {
		return scopes
	}
	return append(slices.Clone(scopes), offline)
}

// offline is the scope of refresh tokens (OpenID Connect Core, section 11).
const offline = "offline_access"

// parameters are the parameters of both requests that say what tokens are for.
func parameters(l store.Login) url.Values {
	out := url.Values{}
	if l.Resource != "" {
		out.Set("resource", l.Resource)
	}
	if l.Audience != "" {
		out.Set("audience", l.Audience)
	}
	return out
}
