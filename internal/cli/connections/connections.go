// Package connections has the commands that connect users to sources with a login of their own.
package connections

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/insight"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const path = "/v1/connections"

// poll is how often the command asks whether the user is done.
const poll = time.Second

// Command returns "windlass connection".
func Command(a *app.App, run insight.Runner) *cobra.Command {
	create := &cobra.Command{
		Use: "create SOURCE", Short: "Connect a source with your own login", Args: cobra.ExactArgs(1),
		Long: `Connect a source with your own login: the command prints an address; open it in a browser, consent, and log in at the source.

The address is for you only. Your agents call the source with your login until you delete the connection.`,
		Example: "  windlass connection create crm",
		RunE:    run(func(c insight.Call) error { return createConnection(a, c) }),
	}
	list := &cobra.Command{Use: "list", Short: "List your connections", Args: cobra.NoArgs, RunE: run(listConnections)}
	remove := &cobra.Command{
		Use: "delete SOURCE", Short: "Delete a connection, and revoke its tokens", Args: cobra.ExactArgs(1), RunE: run(deleteConnection),
	}
	return usage.Group("connection", "Connections: your logins at sources", []string{"connections"}, create, list, remove)
}

func createConnection(a *app.App, c insight.Call) error {
	var begun policyv1.ConnectionAttempt
	_, err := c.Client.Do(c.Ctx, client.Request{
		Method: http.MethodPost, Path: path + ":begin", Body: map[string]any{"source": c.Args[0]}, Temporary: true,
	}, &begun)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.Err, "Open %s\nand log in to %s. Waiting… (Ctrl-C stops)\n", // best effort
		output.Line(begun.GetConnectUrl()), output.Line(begun.GetSource()))
	if err := wait(c, begun.GetId()); err != nil {
		return err
	}
	var made policyv1.Connection
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodGet, Path: one(begun.GetSource())}, &made)
	if err != nil {
		return err
	}
	return c.Print(made.GetSource(), raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "connected to %s at %s\n", output.Line(made.GetSource()), output.Line(made.GetIssuer()))
		return err
	})
}

// wait waits until an attempt ends.
func wait(c insight.Call, id string) error {
	for {
		var now policyv1.ConnectionAttempt
		_, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodGet, Path: "/v1/connection-attempts/" + url.PathEscape(id)}, &now)
		if err != nil {
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

func one(source string) string { return path + "/" + url.PathEscape(source) }

func listConnections(c insight.Call) error {
	items, _, err := c.Client.List(c.Ctx, path, "connections", nil, 0)
	if err != nil {
		return err
	}
	var names []string
	rows := make([][]string, len(items))
	for i, item := range items {
		var s policyv1.Connection
		if err := codec.UnmarshalKnown(item, &s); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		names = append(names, s.GetSource())
		rows[i] = []string{
			s.GetSource(), enum.Name(s.GetState()), c.Ago(s.GetCreateTime().AsTime()), output.Cell(s.GetIssuer()),
			output.Cell(strings.Join(s.GetScopes(), " ")),
		}
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return c.Print(strings.Join(names, "\n"), raw, func(w io.Writer) error {
		return output.Rows(w, []string{"SOURCE", "STATE", "AGE", "AT", "SCOPES"}, rows)
	})
}

func deleteConnection(c insight.Call) error {
	var done policyv1.DeleteConnectionResponse
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodDelete, Path: one(c.Args[0])}, &done)
	if err != nil {
		return err
	}
	said := "its tokens are revoked"
	if !done.GetRevoked() {
		said = "its tokens were not revoked: the authorization server cannot do that, or did not"
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "connection to %s deleted; %s\n", output.Line(c.Args[0]), said)
		return err
	})
}
