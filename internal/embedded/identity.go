package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/gateway/mcp"
	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/internal/issuer"
	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/registration"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

const (
	// issuerName is the built-in issuer in the configuration, and the prefix of its users' subjects.
	issuerName = "dev"
	// IssuerDir is where the data directory keeps what belongs to it.
	IssuerDir = "issuer"
	// documentTimeout bounds fetching a document about a client, for which a user waits.
	documentTimeout = 5 * time.Second
	// rulePrefix begins the names of the rules for its users.
	rulePrefix = issuerName + "-"
)

// userRules are what users of the built-in issuer may do, unless the configuration has rules of its own.
func userRules() []decide.Rule {
	own := []string{issuerName + ":*"}
	return []decide.Rule{
		{
			Name: rulePrefix + "users", Subjects: own, Roles: []string{"user"}, Tools: []string{"*"},
			Permissions: []string{
				"health.get", "inference.models.list", "knowledge.banks.get", "knowledge.banks.list", "knowledge.banks.search",
				"knowledge.documents.get", "knowledge.documents.list", "knowledge.memory.*", "knowledge.sources.get", "knowledge.sources.list",
				"policy.connections.create",
				"policy.connections.delete", "policy.connections.get", "policy.connections.list", "policy.grants.*", "registry.groups.get",
				"registry.groups.list", "registry.sources.get", "registry.sources.list", "registry.tools.get", "registry.tools.invoke",
				"registry.tools.list", "sessions.agents.get", "sessions.agents.list", "sessions.approvals.*", "sessions.artifacts.*",
				"sessions.events.*", "sessions.files.*", "sessions.messages.*",
				"sessions.schedules.*", "sessions.sessions.*", "sessions.shares.*", "sessions.turns.*", "sessions.usage.get",
			},
		},
		{
			Name: rulePrefix + "admins", Subjects: own, Roles: []string{"admin"}, Permissions: []string{"*"}, Tools: []string{"*"},
		},
	}
}

// startIssuer runs the built-in issuer and makes the mesh accept its tokens. Without it, rules for its users are dropped: its name may be
// that of another issuer. The issuer's URL is "" if it is not to run.
func (o *Options) startIssuer(dir *datadir.Dir) (url string, stop func() error, err error) {
	if id := o.Config.Identity; len(id.Issuers) > 0 || id.Issuer.Addr == account.Off || id.Issuer.Addr == "" {
		o.Config.Policy.Rules = slices.DeleteFunc(slices.Clone(o.Config.Policy.Rules), func(r decide.Rule) bool {
			return strings.HasPrefix(r.Name, rulePrefix) && slices.Equal(r.Subjects, []string{issuerName + ":*"})
		})
		return "", func() error { return nil }, nil
	}
	l, err := listenOn("--issuer-addr", o.Config.Identity.Issuer.Addr)
	if err != nil {
		return "", nil, err
	}
	i, err := o.newIssuer(dir, l)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	o.Config.Identity.Issuers = []bearer.Issuer{{
		Name: issuerName, Issuer: i.URL(), Audiences: []string{account.Audience}, TenantClaim: "tenant", RolesClaim: "roles",
		Exchange: bearer.Exchange{ClientID: account.MeshClient, ClientSecret: i.Secret(account.MeshClient), TokenURL: i.URL() + "/token"},
	}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := i.Serve(); err != nil {
			o.Log.ErrorContext(context.Background(), "the built-in issuer has stopped: users cannot log in", "error", err)
		}
	}()
	return i.URL(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), partTimeout)
		defer cancel()
		err := i.Close(ctx)
		<-served
		return err
	}, nil
}

// consoleLogin has browsers log in at the built-in issuer, unless the configuration names another one. The issuer sends browsers to this
// machine only.
func (o *Options) consoleLogin(issuerURL, dir string) error {
	c := &o.Config.Gateway.Login
	gateway, err := url.Parse(o.Config.Gateway.URL)
	if issuerURL == "" || c.Enabled() || err != nil || gateway.Scheme != "http" ||
		gateway.Hostname() != "127.0.0.1" && gateway.Hostname() != "localhost" {
		return nil //nolint:nilerr // the gateway reports its URL
	}
	accounts, err := issuer.Accounts(dir)
	if err != nil {
		return err
	}
	c.Issuer, c.ClientID = issuerURL, account.ConsoleClient
	for _, client := range accounts.Clients {
		if client.ID == c.ClientID {
			c.ClientSecret = secret.New(client.Secret)
		}
	}
	for _, client := range o.Config.Identity.Issuer.Clients { // the data directory has generated secrets only
		if client.ID == c.ClientID && !client.Secret.IsZero() {
			c.ClientSecret = client.Secret
		}
	}
	return nil
}

func (o *Options) newIssuer(dir *datadir.Dir, l net.Listener) (*issuer.Issuer, error) {
	key, err := dir.Key("issuer.key")
	if err != nil {
		return nil, err
	}
	resources, err := protected.New(protected.Config{URL: o.Config.Gateway.URL, MCP: true})
	if err != nil {
		return nil, fmt.Errorf("gateway.url: %w", err)
	}
	// Any page can have the issuer fetch a document, so this reaches public addresses only, whatever tools may reach.
	public := o.Config.Egress
	public.Profile = egress.Public
	out, err := public.Build()
	if err != nil {
		return nil, err
	}
	return issuer.New(issuer.Options{
		Config: o.Config.Identity.Issuer, Dir: dir.Path(IssuerDir), Key: key, Listener: l, Log: o.Log, Now: faultpoint.Clock(),
		Resources: issuer.Resources{Default: strings.TrimSuffix(o.Config.Gateway.URL, "/") + mcp.Path, Known: resources.Known},
		Documents: out.Client(egress.Options{Timeout: documentTimeout, MaxResponseBytes: 2 * registration.MaxDocument}),
	})
}
