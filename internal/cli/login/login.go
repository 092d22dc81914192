package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// defaultClient is the client of the command line at the built-in issuer.
const defaultClient = "windlass-cli"

// command is one run of a command of this package.
type command struct {
	*app.App
	cmd    *cobra.Command
	store  Store
	server string
}

// ServerOf returns the address of the server that a command is for.
type ServerOf func(*cobra.Command) string

// run returns the RunE of a command.
func run(a *app.App, serverOf ServerOf, do func(command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		server, err := client.Address(serverOf(cmd))
		if err != nil {
			return app.Usage("%s", err)
		}
		return do(command{App: a, cmd: cmd, store: Open(a), server: server})
	}
}

// Commands returns login, logout and whoami.
func Commands(a *app.App, serverOf ServerOf) []*cobra.Command {
	var f flags
	in := &cobra.Command{
		Use:   "login",
		Short: "Log in at the server's issuer",
		Long: `Log in for a server: the command prints an address and a code; open the address in a browser, on any machine, and log in there.

The tokens are kept in $XDG_CONFIG_HOME/windlass/credentials.json (or ~/.config/windlass), which only you can read. They are sent
to this server only, and refreshed when they expire. Without --issuer the server is asked which issuer it accepts. Any OpenID Connect
issuer with the device flow will do; --client is the client id that is registered there.`,
		Example: `  windlass login
  windlass login --server https://windlass.example.com --issuer https://id.example.com --client windlass`,
		Args: cobra.NoArgs,
		RunE: run(a, serverOf, func(c command) error { return c.login(f) }),
	}
	in.Flags().StringVar(&f.issuer, "issuer", "", "issuer to log in at")
	in.Flags().StringVar(&f.client, "client", "", "client id at the issuer (default "+defaultClient+")")
	in.Flags().StringSliceVar(&f.scopes, "scope", []string{"openid", "profile", "offline_access"}, "scopes to request")
	in.Flags().StringVar(&f.audience, "audience", "", "audience to request, for issuers that need it")
	out := &cobra.Command{
		Use: "logout", Short: "Log out, and revoke the tokens at the issuer", Args: cobra.NoArgs, RunE: run(a, serverOf, command.logout),
	}
	who := &cobra.Command{
		Use: "whoami", Short: "Show who the server takes you for", Args: cobra.NoArgs, RunE: run(a, serverOf, command.whoami),
	}
	return []*cobra.Command{in, out, who}
}

type flags struct {
	issuer, client, audience string
	scopes                   []string
}

func (c command) login(f flags) error {
	ctx := c.cmd.Context()
	if err := safe(c.server); err != nil {
		return app.Usage("--server: %s", err)
	}
	w, err := newWeb()
	if err != nil {
		return err
	}
	defer w.close()
	issuer := f.issuer
	if issuer == "" {
		if issuer, err = w.issuerOf(ctx, c.server); err != nil {
			return err
		}
	}
	meta, err := w.discover(ctx, issuer)
	if err != nil {
		return err
	}
	l := Login{
		Issuer: issuer, Client: cmp.Or(f.client, defaultClient), Scopes: f.scopes, TokenURL: meta.Token, RevokeURL: meta.Revoke,
	}
	token, err := c.device(w.context(ctx), l, meta, f.audience)
	if err != nil {
		return err
	}
	var old *Login
	err = c.store.Update(c.server, func(before *Login) (*Login, error) {
		old = before
		return l.with(token), nil
	})
	if err != nil {
		return err
	}
	if old != nil {
		_ = w.revoke(ctx, *old) // best effort: this login replaces it
	}
	return c.welcome(ctx)
}

// errLate means that the code expired.
var errLate = errors.New("nobody logged in in time: run 'windlass login' again")

// device runs the device flow: the user logs in with a browser while the command waits.
func (c command) device(ctx context.Context, l Login, meta metadata, audience string) (*oauth2.Token, error) {
	cfg := l.config()
	cfg.Endpoint.DeviceAuthURL = meta.Device
	var opts []oauth2.AuthCodeOption
	if audience != "" {
		opts = append(opts, oauth2.SetAuthURLParam("audience", audience))
	}
	soon, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked, err := cfg.DeviceAuth(soon, opts...)
	if err != nil {
		return nil, c.refused(ctx, l, err)
	}
	address := cmp.Or(asked.VerificationURIComplete, asked.VerificationURI)
	_, _ = fmt.Fprintf(c.Err, "Open %s\nand log in if it shows the code %s. Waiting… (Ctrl-C stops)\n", // best effort
		output.Line(address), output.Line(asked.UserCode))
	token, err := cfg.DeviceAccessToken(ctx, asked, opts...)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errLate
	}
	if err != nil {
		return nil, c.refused(ctx, l, err)
	}
	return token, nil
}

func (c command) refused(ctx context.Context, l Login, err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return unreachable(ctx, l.Issuer, err)
	}
	switch refused.ErrorCode {
	case "access_denied":
		return errors.New("the login was refused in the browser")
	case "expired_token":
		return errLate
	case "invalid_client", "unauthorized_client":
		return fmt.Errorf("%s does not let the client %q log in this way: register it with the device flow, or name another one with --client",
			l.Issuer, l.Client)
	}
	return fmt.Errorf("%s refuses: %s", l.Issuer, output.Line(refused.ErrorCode+" "+refused.ErrorDescription))
}

// renew has the turns of the user use the new login. A server whose turns cannot act for users refuses, which is no reason to fail.
func (c command) renew(ctx context.Context) {
	cl, err := client.New(client.Config{Server: c.server, UserAgent: "windlass", Token: Source(c.App)})
	if err != nil {
		return
	}
	defer cl.Close()
	var done policyv1.RenewGrantsResponse
	if _, err := cl.Invoke(ctx, &policyv1.RenewGrantsRequest{}, &done); err == nil && done.GetResumed() > 0 {
		_, _ = fmt.Fprintf(c.Err, "Calls that waited for the login are made again: %d.\n", done.GetResumed()) // best effort
	}
}

// welcome says who the server takes the user for. It fails if the server does not accept the new token.
func (c command) welcome(ctx context.Context) error {
	me, _, err := c.me(ctx)
	if e := fault.As(err); e != nil && e.Code == codes.NotFound { // authenticated by a server that cannot say more
		_, err = fmt.Fprintf(c.Out, "Logged in to %s.\n", c.server)
		return err
	}
	if err != nil {
		return fmt.Errorf("logged in, but %s does not accept the token: %w", c.server, err)
	}
	c.renew(ctx)
	_, err = fmt.Fprintf(c.Out, "Logged in to %s as %s.\n", c.server, output.Line(me.GetSubject()))
	return err
}

func (c command) logout() error {
	ctx := c.cmd.Context()
	var old *Login
	err := c.store.Update(c.server, func(l *Login) (*Login, error) { old = l; return nil, nil })
	if err != nil {
		return err
	}
	if old == nil {
		_, err := fmt.Fprintf(c.Out, "You were not logged in to %s.\n", c.server)
		return err
	}
	w, err := newWeb()
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.revoke(ctx, *old); err != nil {
		return fmt.Errorf("the tokens are removed here, but the issuer could not be told: %w", err)
	}
	_, err = fmt.Fprintf(c.Out, "Logged out of %s.\n", c.server)
	return err
}

// me returns who the server takes the caller for.
func (c command) me(ctx context.Context) (*policyv1.Caller, json.RawMessage, error) {
	cl, err := client.New(client.Config{Server: c.server, UserAgent: "windlass", Token: Source(c.App)})
	if err != nil {
		return nil, nil, err
	}
	defer cl.Close()
	who := &policyv1.Caller{}
	raw, err := cl.Invoke(ctx, &policyv1.GetCallerRequest{}, who)
	return who, raw, err
}

func (c command) whoami() error {
	format, err := output.Parse(c.cmd.Flag("output").Value.String())
	if err != nil {
		return app.Usage("%s", err)
	}
	who, raw, err := c.me(c.cmd.Context())
	switch {
	case err != nil:
		return err
	case format == output.Name:
		_, err = fmt.Fprintln(c.Out, output.Line(who.GetSubject()))
		return err
	case format != output.Table:
		return output.Value(c.Out, format, raw)
	}
	l, ok, err := c.store.Get(c.server)
	if err != nil {
		return err
	}
	at := "no login"
	switch {
	case c.Getenv(tokenEnv) != "":
		at = "the token in " + tokenEnv
	case ok:
		at = "login at " + l.Issuer
	default:
		token, err := Source(c.App)(c.cmd.Context(), c.server)
		if err == nil && !token.IsZero() {
			at = "the access token of the data directory"
		}
	}
	_, err = fmt.Fprintf(c.Out, "%s\n  server  %s\n  tenant  %s\n  roles   %s\n  by      %s\n", output.Line(who.GetSubject()), c.server,
		output.Line(who.GetTenant()), output.Line(strings.Join(who.GetRoles(), ", ")), at)
	return err
}
