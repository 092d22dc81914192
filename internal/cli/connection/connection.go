// Package connection has the commands that connect users to sources with a login of their own.
package connection

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// poll is how often the command asks whether the user is done.
const poll = time.Second

// Command returns "windlass connection".
func Command(r *command.Runner) *cobra.Command {
	create := &cobra.Command{
		Use: "create SOURCE", Short: "Connect a source with your own login", Args: cobra.ExactArgs(1),
		Long: `Connect a source with your own login: the command prints an address; open it in a browser, consent, and log in at the source.

The address is for you only. Your agents call the source with your login until you delete the connection.`,
		Example: "  windlass connection create crm",
		RunE:    r.Run(create),
	}
	list := &cobra.Command{Use: "list", Short: "List your connections", Args: cobra.NoArgs, RunE: r.Run(list)}
	remove := &cobra.Command{
		Use: "delete SOURCE", Short: "Delete a connection, and revoke its tokens", Args: cobra.ExactArgs(1), RunE: r.Run(remove),
	}
	return usage.Group("connection", "Connections: your logins at sources", []string{"connections"}, create, list, remove)
}

func create(c *command.Call) error {
	var begun policyv1.ConnectionAttempt
	if _, err := c.Do(&policyv1.BeginConnectionRequest{Source: c.Args[0]}, &begun); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.Err, "Open %s\nand log in to %s. Waiting… (Ctrl-C stops)\n", // best effort
		output.Line(begun.GetConnectUrl()), output.Line(begun.GetSource()))
	if err := wait(c, begun.GetId()); err != nil {
		return err
	}
	var made policyv1.Connection
	raw, err := c.Do(&policyv1.GetConnectionRequest{Source: begun.GetSource()}, &made)
	if err != nil {
		return err
	}
	return c.Printf(made.GetSource(), raw, "connected to %s at %s", output.Line(made.GetSource()), output.Line(made.GetIssuer()))
}

// wait waits until an attempt ends.
func wait(c *command.Call, id string) error {
	for {
		var now policyv1.ConnectionAttempt
		if _, err := c.Do(&policyv1.GetConnectionAttemptRequest{AttemptId: id}, &now); err != nil {
			return err
		}
		switch now.GetState() {
		case policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_CONNECTED:
			return nil
		case policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_FAILED:
			return fmt.Errorf("not connected: %s", output.Line(now.GetError()))
		case policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_EXPIRED:
			return errors.New("not connected: nobody logged in in time")
		}
		if err := backoff.Sleep(c.Ctx, poll); err != nil {
			return err
		}
	}
}

func list(c *command.Call) error {
	header := []string{"SOURCE", "STATE", "AGE", "AT", "SCOPES"}
	return command.PrintListing(c, &policyv1.ListConnectionsRequest{}, 0, header, func(s *policyv1.Connection) (string, []string) {
		return s.GetSource(), []string{
			s.GetSource(), enum.Name(s.GetState()), c.Ago(s.GetCreateTime().AsTime()), output.Cell(s.GetIssuer()),
			output.Cell(strings.Join(s.GetScopes(), " ")),
		}
	})
}

func remove(c *command.Call) error {
	var done policyv1.DeleteConnectionResponse
	raw, err := c.Do(&policyv1.DeleteConnectionRequest{Source: c.Args[0]}, &done)
	if err != nil {
		return err
	}
	said := "its tokens are revoked"
	if !done.GetRevoked() {
		said = "its tokens were not revoked: the authorization server cannot do that, or did not"
	}
	return c.Printf(c.Args[0], raw, "connection to %s deleted; %s", output.Line(c.Args[0]), said)
}
