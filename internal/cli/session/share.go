package session

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func shareCommands(r *command.Runner) []*cobra.Command {
	share := &cobra.Command{
		Use: "share ID", Short: "Make a link that shows the conversation of a session",
		Long: "Make a link that shows the conversation of a session as it is now, or with --live what is said later too.\n" +
			"The link is printed once. --access continue lets logged-in readers go on in a session of their own.",
		Args: cobra.ExactArgs(1), RunE: r.Run(share),
	}
	share.Flags().String("access", "read", "read or continue")
	share.Flags().String("audience", "tenant", "who may read it: anyone, tenant or named")
	share.Flags().StringSlice("subject", nil, "a user who may read it, with --audience named; repeatable")
	share.Flags().Duration("ttl", 0, "when it expires, such as 24h; without it sessions.shares.ttl")
	share.Flags().Bool("live", false, "show what is said from now on too")
	share.Flags().Uint32("seq", 0, "show messages up to this event; 0 = all of now")
	share.Flags().Bool("redact", false, "show neither tool results nor cited passages")
	shares := &cobra.Command{Use: "shares ID", Short: "List the shares of a session", Args: cobra.ExactArgs(1), RunE: r.Run(listShares)}
	unshare := &cobra.Command{
		Use: "unshare ID SHARE…", Short: "Revoke shares of a session", Args: cobra.MinimumNArgs(2), RunE: r.Run(unshare),
	}
	return []*cobra.Command{share, shares, unshare}
}

func share(c *command.Call) error {
	req := &sessionsv1.CreateShareRequest{SessionId: c.Args[0], Audience: c.Flag("audience")}
	if err := c.Given(req, "access", "subject=subjects", "live", "seq", "redact=redact_tool_results"); err != nil {
		return err
	}
	ttl, err := time.ParseDuration(c.Flag("ttl"))
	if err != nil || ttl < 0 || ttl%time.Second != 0 {
		return app.Usage("--ttl must be whole seconds, such as 24h")
	}
	req.TtlSeconds = int64(ttl / time.Second)
	raw, err := c.Do(req, nil)
	if err != nil {
		return err
	}
	var made struct{ ID, URL string }
	if err := json.Unmarshal(raw, &made); err != nil {
		return err
	}
	return c.Printf(made.ID, raw, "share %s: %s below the address of the gateway", output.Line(made.ID), output.Line(made.URL))
}

// sharesNoun prints shares.
func sharesNoun() command.Noun {
	return command.Noun{
		Name: "share", Plural: "shares", Header: []string{"ID", "ACCESS", "AUDIENCE", "SHOWS", "BY", "EXPIRES"},
		Read: command.Typed((*sessionsv1.Share).GetId, func(m *sessionsv1.Share, _ time.Time) []string {
			audience, shows := m.GetAudience(), "fixed"
			if len(m.GetSubjects()) > 0 {
				audience = strings.Join(m.GetSubjects(), " ")
			}
			if m.GetLive() {
				shows = "live"
			}
			return []string{
				m.GetId(), m.GetAccess(), output.Cell(audience), shows, output.Cell(m.GetSubject()),
				m.GetExpireTime().AsTime().Format(time.RFC3339),
			}
		}),
	}
}

func listShares(c *command.Call) error {
	return sharesNoun().ListAt(c, &sessionsv1.ListSharesRequest{SessionId: c.Args[0]}, nil, 0)
}

func unshare(c *command.Call) error {
	for _, id := range c.Args[1:] {
		if _, err := c.Do(&sessionsv1.RevokeShareRequest{SessionId: c.Args[0], ShareId: id}, nil); err != nil {
			return err
		}
		if err := c.Printf(id, json.RawMessage(`{}`), "share %s revoked", output.Line(id)); err != nil {
			return err
		}
	}
	return nil
}
