// Package grants has the commands for grants, with which turns act for their users.
package grants

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/insight"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const path = "/v1/grants"

// Command returns "windlass grant".
func Command(run insight.Runner) *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List your grants", Args: cobra.NoArgs, RunE: run(listGrants)}
	revoke := &cobra.Command{
		Use: "revoke GRANT", Short: "Revoke a grant: its turn, and those that it started, no longer act for you", Args: cobra.ExactArgs(1),
		RunE: run(revokeGrant),
	}
	return usage.Group("grant", "Grants: which turns act for you", []string{"grants"}, list, revoke)
}

func listGrants(c insight.Call) error {
	items, _, err := c.Client.List(c.Ctx, path, "grants", nil, 0)
	if err != nil {
		return err
	}
	var names []string
	rows := make([][]string, len(items))
	for i, item := range items {
		var g policyv1.Grant
		if err := codec.UnmarshalKnown(item, &g); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		names = append(names, g.GetId())
		rows[i] = []string{g.GetId(), enum.Name(g.GetState()), c.Ago(g.GetCreateTime().AsTime()), g.GetTurnId(), output.Cell(g.GetIssuer())}
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return c.Print(strings.Join(names, "\n"), raw, func(w io.Writer) error {
		return output.Rows(w, []string{"GRANT", "STATE", "AGE", "TURN", "ISSUER"}, rows)
	})
}

func revokeGrant(c insight.Call) error {
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodPost, Path: path + "/" + url.PathEscape(c.Args[0]) + ":revoke"}, nil)
	if err != nil {
		return err
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "grant %s revoked\n", output.Line(c.Args[0]))
		return err
	})
}
