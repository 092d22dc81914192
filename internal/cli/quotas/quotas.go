// Package quotas has the commands for quotas: limits on what a tenant and its users use.
package quotas

import (
	"encoding/json"
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
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const path = "/v1/quotas"

// limits are the flags of "set" and the fields of the API.
var limits = []struct{ flag, field, usage string }{
	{"requests-per-minute", "requests_per_minute", "maximum number of requests per minute, to each process"},
	{"concurrent-turns", "concurrent_turns", "maximum number of turns that have not ended"},
	{"tokens-per-day", "tokens_per_day", "maximum number of tokens that models read and write in a day (UTC)"},
	{"tool-calls-per-day", "tool_calls_per_day", "maximum number of tool calls in a day (UTC)"},
}

// Command returns "windlass quota".
func Command(run insight.Runner) *cobra.Command {
	set := &cobra.Command{
		Use: "set QUOTA", Short: "Set limits", Args: cobra.ExactArgs(1),
		Long: `Set limits for all users of the tenant together ("tenant"), for each user ("users"), or for one user instead ("user:SUBJECT").

A limit that is not given stays as it is; 0 removes it. Limits of the server's configuration (policy.quotas) apply as well.`,
		Example: "  windlass quota set users --concurrent-turns 5 --tokens-per-day 200000\n" +
			"  windlass quota set user:dev:alice --tokens-per-day 1000000",
		RunE: run(setQuota),
	}
	for _, l := range limits {
		set.Flags().Int64(l.flag, 0, l.usage+"; 0 = no limit")
	}
	get := &cobra.Command{Use: "get QUOTA", Short: "Show a quota", Args: cobra.ExactArgs(1), RunE: run(getQuota)}
	list := &cobra.Command{Use: "list", Short: "List quotas", Args: cobra.NoArgs, RunE: run(listQuotas)}
	remove := &cobra.Command{Use: "delete QUOTA", Short: "Delete a quota", Args: cobra.ExactArgs(1), RunE: run(deleteQuota)}
	used := &cobra.Command{
		Use: "usage [SUBJECT]", Short: "Show the limits of a user and its tenant, and what is used of them", Args: cobra.MaximumNArgs(1),
		Long: "Show the limits that apply to a user and to its tenant, from quotas and from the configuration, and what is used of them.\n" +
			"Without a subject: those of the caller.",
		RunE: run(showUsage),
	}
	return usage.Group("quota", "Quotas: limits on what a tenant and its users use", []string{"quotas"}, set, get, list, remove, used)
}

func one(id string) string { return path + "/" + url.PathEscape(id) }

func setQuota(c insight.Call) error {
	body := map[string]any{}
	for _, l := range limits {
		if f := c.Cmd.Flag(l.flag); f.Changed {
			body[l.field] = f.Value.String()
		}
	}
	if len(body) == 0 {
		return app.Usage("give at least one limit, for example --concurrent-turns 5")
	}
	var q policyv1.Quota
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodPatch, Path: one(c.Args[0]), Body: body}, &q)
	if err != nil {
		return err
	}
	return show(c, raw, &q)
}

func getQuota(c insight.Call) error {
	var q policyv1.Quota
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodGet, Path: one(c.Args[0])}, &q)
	if err != nil {
		return err
	}
	return show(c, raw, &q)
}

func show(c insight.Call, raw []byte, q *policyv1.Quota) error {
	return c.Print(q.GetId(), raw, func(w io.Writer) error { return output.Rows(w, header(), [][]string{row(c, q)}) })
}

func header() []string {
	return []string{"QUOTA", "REQUESTS/MIN", "TURNS", "TOKENS/DAY", "TOOL CALLS/DAY", "AGE"}
}

func row(c insight.Call, q *policyv1.Quota) []string {
	return []string{
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

func listQuotas(c insight.Call) error {
	items, _, err := c.Client.List(c.Ctx, path, "quotas", nil, 0)
	if err != nil {
		return err
	}
	ids, rows := make([]string, len(items)), make([][]string, len(items))
	for i, item := range items {
		var q policyv1.Quota
		if err := codec.UnmarshalKnown(item, &q); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		ids[i], rows[i] = q.GetId(), row(c, &q)
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the list: %w", err)
	}
	return c.Print(strings.Join(ids, "\n"), raw, func(w io.Writer) error { return output.Rows(w, header(), rows) })
}

func deleteQuota(c insight.Call) error {
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodDelete, Path: one(c.Args[0])}, nil)
	if err != nil {
		return err
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "quota %s deleted\n", output.Line(c.Args[0]))
		return err
	})
}

func showUsage(c insight.Call) error {
	query := url.Values{}
	if len(c.Args) == 1 {
		if c.Args[0] == "" {
			return app.Usage("the subject is empty")
		}
		query.Set("user", c.Args[0])
	}
	var u policyv1.GetQuotaUsageResponse
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodGet, Path: path + ":usage", Query: query}, &u)
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
