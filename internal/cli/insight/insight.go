// Package insight has the commands that show and clear the cache of tool results, and those that analyse tool calls and sessions.
package insight

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Call is one run of a command.
type Call struct {
	// Ctx ends with the run.
	Ctx context.Context // of this one run
	// Cmd has the flags, Args are the arguments.
	Cmd  *cobra.Command
	Args []string
	// Client calls the server.
	Client *client.Client
	// Print writes an answer: its name, its JSON, or for people the output of text.
	Print func(name string, raw json.RawMessage, text func(io.Writer) error) error
	// Ago formats the time since t.
	Ago func(t time.Time) string
}

// Runner returns the RunE of a command.
type Runner func(do func(Call) error) func(*cobra.Command, []string) error

// Commands returns "windlass cache" and "windlass analytics".
func Commands(run Runner) []*cobra.Command {
	return []*cobra.Command{cacheCommand(run), analyticsCommand(run)}
}

func cacheCommand(run Runner) *cobra.Command {
	stats := &cobra.Command{
		Use: "stats [--period DURATION]", Short: "Show how much the cache holds and how often it was used", Args: cobra.NoArgs,
		RunE: run(cacheStats),
	}
	periodFlag(stats)
	clean := &cobra.Command{
		Use: "clear [TOOL | --source NAME | --all]", Short: "Remove results of a tool, of a source or of all tools", Args: cobra.MaximumNArgs(1),
		Example: "  windlass cache clear notes__search\n  windlass cache clear --source notes", RunE: run(clearCache),
	}
	clean.Flags().String("source", "", "remove results of all tools of this source")
	clean.Flags().Bool("all", false, "remove all results of the tenant")
	return usage.Group("cache", "Cache: results of READ tools that are used again", nil, stats, clean)
}

func analyticsCommand(run Runner) *cobra.Command {
	tools := &cobra.Command{
		Use: "tools [--period DURATION] [--source NAME] [--tool NAME]", Short: "Show calls, latency, cache hits and errors of each tool",
		Args: cobra.NoArgs, RunE: run(analyseTools),
	}
	periodFlag(tools)
	tools.Flags().String("source", "", "only tools of this source")
	tools.Flags().String("tool", "", "only this tool")
	sessions := &cobra.Command{Use: "sessions", Short: "Count sessions and messages", Args: cobra.NoArgs, RunE: run(analyseSessions)}
	recent := &cobra.Command{
		Use: "recent [--limit N] [--tool NAME]", Short: "Show the last tool calls with input and output", Args: cobra.NoArgs,
		RunE: run(recentCalls),
	}
	recent.Flags().Int("limit", 20, "show so many at most, up to 100")
	recent.Flags().String("tool", "", "only calls of this tool")
	return usage.Group("analytics", "Analytics: how tools and sessions are used", nil, tools, sessions, recent)
}

func periodFlag(cmd *cobra.Command) {
	cmd.Flags().Duration("period", 24*time.Hour, "period until now, for example 1h; at most 31 days")
}

// periodQuery returns the query parameters of a command with --period and flags that are called like them.
func periodQuery(c Call, flags ...string) (url.Values, error) {
	period, err := c.Cmd.Flags().GetDuration("period")
	if err != nil || period <= 0 {
		return nil, app.Usage("--period must be more than 0")
	}
	query := url.Values{"period": {fmt.Sprintf("%.3fs", period.Seconds())}}
	for _, name := range flags {
		if v := flag(c, name); v != "" {
			query.Set(name, v)
		}
	}
	return query, nil
}

func cacheStats(c Call) error {
	query, err := periodQuery(c)
	if err != nil {
		return err
	}
	var s registryv1.ToolCacheStats
	raw, err := c.Client.Do(c.Ctx, client.Request{Path: "/v1/tool-cache", Query: query}, &s)
	if err != nil {
		return err
	}
	return c.Print("", raw, func(w io.Writer) error {
		return output.Rows(w, []string{"AVAILABLE", "RESULTS", "BYTES", "HITS", "MISSES", "HIT RATE", "FAILURES"}, [][]string{{
			output.YesNo(s.GetAvailable()), fmt.Sprint(s.GetResults()), fmt.Sprint(s.GetSizeBytes()), fmt.Sprint(s.GetHits()),
			fmt.Sprint(s.GetMisses()), percent(s.GetHitRate()), fmt.Sprint(s.GetFailures()),
		}})
	})
}

func clearCache(c Call) error {
	body, what := map[string]any{}, "of all tools"
	source, all := flag(c, "source"), flag(c, "all") == "true"
	switch {
	case len(c.Args) == 1 && source == "" && !all:
		body["tool"], what = c.Args[0], "of "+c.Args[0]
	case len(c.Args) == 0 && source != "" && !all:
		body["source"], what = source, "of source "+source
	case len(c.Args) == 0 && source == "" && all:
	default:
		return app.Usage("say what to clear: a tool, --source or --all")
	}
	raw, err := c.Client.Do(c.Ctx, client.Request{Method: http.MethodPost, Path: "/v1/tool-cache:clear", Body: body}, nil)
	if err != nil {
		return err
	}
	return c.Print("", raw, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "results %s removed\n", output.Line(what))
		return err
	})
}

func analyseTools(c Call) error {
	query, err := periodQuery(c, "source", "tool")
	if err != nil {
		return err
	}
	var got registryv1.ToolAnalytics
	raw, err := c.Client.Do(c.Ctx, client.Request{Path: "/v1/analytics/tools", Query: query}, &got)
	if err != nil {
		return err
	}
	var names []string
	var rows [][]string
	for _, u := range got.GetTools() {
		names = append(names, u.GetTool())
		rows = append(rows, []string{
			u.GetTool(), fmt.Sprint(u.GetCalls()), fmt.Sprintf("%.1f", u.GetMeanLatencyMs()), fmt.Sprintf("%.1f", u.GetP95LatencyMs()),
			percent(u.GetCacheHitRate()), percent(u.GetErrorRate()),
		})
	}
	return c.Print(strings.Join(names, "\n"), raw, func(w io.Writer) error {
		return output.Rows(w, []string{"TOOL", "CALLS", "MEAN MS", "P95 MS", "CACHE HITS", "ERRORS"}, rows)
	})
}

func analyseSessions(c Call) error {
	var s sessionsv1.SessionAnalytics
	raw, err := c.Client.Do(c.Ctx, client.Request{Path: "/v1/analytics/sessions"}, &s)
	if err != nil {
		return err
	}
	return c.Print("", raw, func(w io.Writer) error {
		return output.Rows(w, []string{"SESSIONS", "MESSAGES", "PER SESSION", "ACTIVE IN THE LAST HOUR"}, [][]string{{
			fmt.Sprint(s.GetTotal()), fmt.Sprint(s.GetMessages()), fmt.Sprintf("%.1f", s.GetMessagesPerSession()), fmt.Sprint(s.GetActiveLastHour()),
		}})
	})
}

func recentCalls(c Call) error {
	query := url.Values{"limit": {flag(c, "limit")}}
	if tool := flag(c, "tool"); tool != "" {
		query.Set("tool", tool)
	}
	var got registryv1.ListRecentExecutionsResponse
	raw, err := c.Client.Do(c.Ctx, client.Request{Path: "/v1/analytics/recent", Query: query}, &got)
	if err != nil {
		return err
	}
	var ids []string
	var rows [][]string
	for _, e := range got.GetExecutions() {
		ids = append(ids, e.GetId())
		rows = append(rows, []string{
			c.Ago(e.GetCreateTime().AsTime()), e.GetTool(), e.GetSubject(), enum.Name(e.GetState()), fmt.Sprint(e.GetLatencyMs()),
			enum.Name(e.GetCache()), output.Cell(e.GetInput()), output.Cell(e.GetOutput()),
		})
	}
	return c.Print(strings.Join(ids, "\n"), raw, func(w io.Writer) error {
		return output.Rows(w, []string{"AGE", "TOOL", "SUBJECT", "STATE", "MS", "CACHE", "INPUT", "OUTPUT"}, rows)
	})
}

func percent(rate float64) string { return fmt.Sprintf("%.1f%%", 100*rate) }

// flag returns a flag's text.
func flag(c Call, name string) string { return c.Cmd.Flags().Lookup(name).Value.String() }
