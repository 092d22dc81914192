// Package mcp calls MCP servers through the bridge.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Name is the name of the kind.
const Name = "mcp"

// Kind is an MCP server.
type Kind struct{}

// Facts implements source.Kind.
func (Kind) Facts() source.Facts { return source.Facts{Name: Name, Auth: source.AnyAuth, Bridge: true} }

// Validate implements source.Kind.
func (Kind) Validate(src store.Source, bad source.Bad) {
	s := src.Spec
	overHTTP, program := s.URL != "", len(s.Command) > 0
	switch {
	case overHTTP == program:
		bad("source.url", "give exactly one of url and command")
	case overHTTP && s.Transport == "stdio":
		bad("source.transport", "stdio needs a command, not a url")
	case program && s.Transport != "" && s.Transport != "stdio":
		bad("source.transport", s.Transport+" needs a url, not a command")
	}
	if overHTTP {
		if message := source.WrongURL(s.URL); message != "" {
			bad("source.url", message)
		}
		if len(s.Env) > 0 || s.Dir != "" {
			bad("source.env", "env and dir belong to a command, not to a url")
		}
	}
	if program && strings.TrimSpace(s.Command[0]) == "" {
		bad("source.command", "the first element is the program; it is empty")
	}
	if program && len(s.Headers) > 0 {
		bad("source.headers", "headers belong to a url, not to a command")
	}
	if program && s.Auth != nil {
		bad("source.auth", "auth belongs to a url, not to a command; use env with ${env:NAME}")
	}
	source.NoAPI(src, bad)
	for field, a := range map[string]*store.Auth{"auth": s.Auth, "sync_auth": s.SyncAuth} {
		if a != nil && a.Kind == credential.APIKey && a.In == "query" {
			bad("source."+field+".in", "an MCP server takes its key in a header")
		}
	}
}

// driver calls MCP servers.
type driver struct {
	env    *source.Env
	bridge mcpbridgev1.BridgeServiceClient
}

// Open returns the driver of the kind.
func Open(env *source.Env, bridge mcpbridgev1.BridgeServiceClient) source.Driver {
	return driver{env, bridge}
}

func (d driver) Discover(ctx context.Context, s store.Source, as source.User) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, d.env.DiscoverTimeout+2*time.Second) // the bridge's own limit comes first
	defer cancel()
	server, err := d.server(s, as)
	if err != nil {
		return store.Inventory{}, err
	}
	if as.Subject == "" {
		server.Auth = authOf(source.SyncOwner(s, as).Auth)
	}
	resp, err := d.bridge.Discover(ctx, &mcpbridgev1.DiscoverRequest{Server: server})
	if refused := refusedToken(s, err); refused != nil {
		return store.Inventory{}, refused
	}
	if f := fault.From(err); err != nil && f.Details[detailAnswered] != "" {
		return store.Inventory{}, source.Invalid(f)
	}
	if err != nil {
		return store.Inventory{}, err
	}
	inv := store.Inventory{
		ServerVersion: source.Version(resp.GetServerName(), resp.GetServerVersion()), ProtocolVersion: resp.GetProtocolVersion(),
	}
	seen := map[string]bool{}
	for _, t := range resp.GetTools() {
		shown := truncate.Bytes(strings.ReplaceAll(t.GetName(), "\x00", ""), 100)
		switch {
		case t.GetName() == "" || strings.Contains(t.GetName(), "\x00"):
			inv.Warnings = append(inv.Warnings, fmt.Sprintf("the tool %q is left out: that is not a name", shown))
			continue
		case seen[t.GetName()]: // the first one is kept
			inv.Warnings = append(inv.Warnings, fmt.Sprintf("duplicate tool %q: the first one counts", shown))
			continue
		}
		seen[t.GetName()] = true
		inv.Tools = append(inv.Tools, found(t))
		if _, err := schema.Object(t.GetInputSchemaJson()); err != nil {
			inv.Warnings = append(inv.Warnings, fmt.Sprintf(
				"the tool %q is not listed at /mcp, since clients could not read the schema of its arguments: %s", shown, err))
		}
	}
	return inv, nil
}

// found converts a tool of the bridge. A tool that is not declared harmless by its server is ONCE.
func found(t *mcpbridgev1.Tool) store.Found {
	f := store.Found{
		OriginalName: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(), Raw: t.GetRawJson(),
		InputSchema: t.GetInputSchemaJson(), OutputSchema: t.GetOutputSchemaJson(), Effect: store.Once,
	}
	switch {
	case t.GetReadOnlyHint():
		f.Effect = store.Read
	case t.GetIdempotentHint():
		f.Effect = store.Idempotent
	}
	return f
}

// Release: it closes what the bridge keeps open.
func (d driver) Release(ctx context.Context, s store.Source) error {
	if _, err := d.bridge.Release(ctx, &mcpbridgev1.ReleaseRequest{ServerId: s.ID}); err != nil {
		return fmt.Errorf("release source %q: %w", s.Name, err)
	}
	return nil
}

// server converts a source for the bridge, with the token of a user.
func (d driver) server(s store.Source, as source.User) (*mcpbridgev1.Server, error) {
	out := &mcpbridgev1.Server{
		Id: s.ID, Tenant: s.Tenant, Name: s.Name, Url: s.Spec.URL, Command: s.Spec.Command, Env: s.Spec.Env, Dir: s.Spec.Dir,
		Headers: s.Spec.Headers, Transport: s.Spec.Transport, ClientRequests: s.Spec.ClientRequests, Auth: authOf(s.Spec.Auth),
		ConnectTimeout: durationpb.New(d.env.DiscoverTimeout), CallTimeout: durationpb.New(d.env.CallTimeout(s)),
	}
	if as.Subject == "" {
		return out, nil
	}
	text, err := json.Marshal(map[string]string{userToken: as.Token.Value.Reveal()})
	if err != nil {
		return nil, errors.New("encode the token") // the cause would quote it
	}
	data, err := providerdata.Parse(string(text))
	if err != nil {
		return nil, errors.New("the access token of the user cannot be sent") // the same
	}
	out.User = s.Tenant + "/" + as.Subject
	out.UserToken, err = d.env.Sealer.Seal(data, providerdata.OfServer(s.ID))
	return out, err
}

// authOf converts a credential for the bridge.
func authOf(a *store.Auth) *mcpbridgev1.Auth {
	if a == nil {
		return nil
	}
	if a.Kind == credential.AuthorizationCode || a.Kind == credential.Exchange { // all else is for policy
		return &mcpbridgev1.Auth{Kind: credential.AuthorizationCode}
	}
	return &mcpbridgev1.Auth{
		Kind: a.Kind, In: a.In, Name: a.Name, Secret: a.Secret, Username: a.Username, TokenUrl: a.TokenURL, ClientId: a.ClientID,
		Scopes: a.Scopes, Audience: a.Audience,
	}
}

// refusedToken returns ErrRefused or a *ScopesError if the bridge says that a server refused the user's token, and otherwise nil.
func refusedToken(s store.Source, err error) error {
	if err == nil || !s.Spec.UserLogin() && !s.Spec.Exchange() {
		return nil
	}
	details := fault.From(err).Details
	if wanted, ok := details[detailScopes]; ok {
		return &source.ScopesError{Wanted: strings.Fields(wanted)}
	}
	if details[detailRefused] != "" {
		return source.ErrRefused
	}
	return nil
}

// Names between registry and bridge: of a user's token, and of the details that a server refused it before it did anything, that it wants
// other scopes, and that a server whose tools were to be listed answered, but not as an MCP server.
const (
	userToken      = "user_token"
	detailRefused  = "token_refused"
	detailScopes   = "scopes_wanted"
	detailAnswered = "answered"
)
