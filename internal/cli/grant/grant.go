// Package grant has the commands for grants, with which turns act for their users.
package grant

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Command returns "windlass grant".
func Command(r *command.Runner) *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List your grants", Args: cobra.NoArgs, RunE: r.Run(list)}
	revoke := &cobra.Command{
		Use: "revoke GRANT", Short: "Revoke a grant: its turn, and those that it started, no longer act for you", Args: cobra.ExactArgs(1),
		RunE: r.Run(revoke),
	}
	return usage.Group("grant", "Grants: which turns act for you", []string{"grants"}, list, revoke)
}

func list(c *command.Call) error {
	header := []string{"GRANT", "STATE", "AGE", "TURN", "ISSUER"}
	return command.PrintListing(c, &policyv1.ListGrantsRequest{}, 0, header, func(g *policyv1.Grant) (string, []string) {
		return g.GetId(), []string{
			g.GetId(), enum.Name(g.GetState()), c.Ago(g.GetCreateTime().AsTime()), g.GetTurnId(), output.Cell(g.GetIssuer()),
		}
	})
}

func revoke(c *command.Call) error {
	return c.Done(&policyv1.RevokeGrantRequest{GrantId: c.Args[0]}, c.Args[0], "grant %s revoked", output.Line(c.Args[0]))
}
