// Package quota has the commands for quotas: limits on what a tenant and its users use.
package quota

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// limits are the flags of "set".
var limits = []struct{ flag, usage string }{
	{"requests-per-minute", "maximum number of requests per minute, to each process"},
	{"concurrent-turns", "maximum number of turns that have not ended"},
	{"tokens-per-day", "maximum number of tokens that models read and write in a day (UTC)"},
	{"tool-calls-per-day", "maximum number of tool calls in a day (UTC)"},
}

// Command returns "windlass quota".
func Command(r *command.Runner) *cobra.Command {
	set := &cobra.Command{
		Use: "set QUOTA", Short: "Set limits", Args: cobra.ExactArgs(1),
		Long: `Set limits for all users of the tenant together ("tenant"), for each user ("users"), or for one user instead ("user:SUBJECT").

A limit that is not given stays as it is; 0 removes it. Limits of the server's configuration (policy.quotas) apply as well.`,
		Example: "  windlass quota set users --concurrent-turns 5 --tokens-per-day 200000\n" +
			"  windlass quota set user:dev:alice --tokens-per-day 1000000",
		RunE: r.Run(set),
	}
	for _, l := range limits {
		set.Flags().Int64(l.flag, 0, l.usage+"; 0 = no limit")
	}
	get := &cobra.Command{Use: "get QUOTA", Short: "Show a quota", Args: cobra.ExactArgs(1), RunE: r.Run(get)}
	list := &cobra.Command{Use: "list", Short: "List quotas", Args: cobra.NoArgs, RunE: r.Run(list)}
	remove := &cobra.Command{Use: "delete QUOTA", Short: "Delete a quota", Args: cobra.ExactArgs(1), RunE: r.Run(remove)}
	used := &cobra.Command{
		Use: "usage [SUBJECT]", Short: "Show the limits of a user and its tenant, and what is used of them", Args: cobra.MaximumNArgs(1),
		Long: "Show the limits that apply to a user and to its tenant, from quotas and from the configuration, and what is used of them.\n" +
			"Without a subject: those of the caller.",
		RunE: r.Run(showUsage),
	}
	return usage.Group("quota", "Quotas: limits on what a tenant and its users use", []string{"quotas"}, set, get, list, remove, used)
}

func set(c *command.Call) error {
	var flags []string
	for _, l := range limits {
		flags = append(flags, l.flag)
	}
	req := &policyv1.SetQuotaRequest{QuotaId: c.Args[0]}
	changed, err := c.Changed(req, flags...)
	if err != nil {
		return err
	}
	if len(changed.GetPaths()) == 0 {
		return app.Usage("give at least one limit, for example --concurrent-turns 5")
	}
	return show(c, req)
}

func get(c *command.Call) error { return show(c, &policyv1.GetQuotaRequest{QuotaId: c.Args[0]}) }

func show(c *command.Call, req proto.Message) error {
	var q policyv1.Quota
	raw, err := c.Do(req, &q)
	if err != nil {
		return err
	}
	id, cells := row(c, &q)
	return c.PrintTable(id, raw, header(), cells)
}

func header() []string {
	return []string{"QUOTA", "REQUESTS/MIN", "TURNS", "TOKENS/DAY", "TOOL CALLS/DAY", "AGE"}
}

func row(c *command.Call, q *policyv1.Quota) (id string, cells []string) {
	return q.GetId(), []string{
		output.Cell(q.GetId()), limit(q.GetRequestsPerMinute()), limit(q.GetConcurrentTurns()), limit(q.GetTokensPerDay()),
		limit(q.GetToolCallsPerDay()), c.Ago(q.GetCreateTime().AsTime()),
	}
}

// limit shows no limit as "-".
func limit(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func list(c *command.Call) error {
	return command.PrintListing(c, &policyv1.ListQuotasRequest{}, 0, header(),
		func(q *policyv1.Quota) (string, []string) { return row(c, q) })
}

func remove(c *command.Call) error {
	return c.Done(&policyv1.DeleteQuotaRequest{QuotaId: c.Args[0]}, c.Args[0], "quota %s deleted", output.Line(c.Args[0]))
}

func showUsage(c *command.Call) error {
	req := &policyv1.GetQuotaUsageRequest{}
	if len(c.Args) == 1 {
		if c.Args[0] == "" {
			return app.Usage("the subject is empty")
		}
		req.User = c.Args[0]
	}
	var u policyv1.GetQuotaUsageResponse
	raw, err := c.Do(req, &u)
	if err != nil {
		return err
	}
	return c.Print(u.GetUser(), raw, func(w io.Writer) error {
		if len(u.GetUses()) == 0 {
			_, err := fmt.Fprintf(w, "no limits apply to %s of tenant %s\n", output.Line(u.GetUser()), output.Line(u.GetTenant()))
			return err
		}
		rows := make([][]string, len(u.GetUses()))
		for i, use := range u.GetUses() {
			reset := "-"
			if use.GetResetTime() != nil {
				reset = use.GetResetTime().AsTime().Format(time.RFC3339)
			}
			limit := strings.ReplaceAll(use.GetLimit(), "_", " ")
			rows[i] = []string{use.GetScope(), limit, fmt.Sprint(use.GetUsed()), fmt.Sprint(use.GetMax()), reset}
		}
		return output.Rows(w, []string{"SCOPE", "LIMIT", "USED", "MAX", "RESETS"}, rows)
	})
}
