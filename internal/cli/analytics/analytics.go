// Package analytics has the commands that count tool calls and sessions.
package analytics

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Command returns "windlass analytics".
func Command(r *command.Runner) *cobra.Command {
	tools := &cobra.Command{
		Use: "tools [--period DURATION] [--source NAME] [--tool NAME]", Short: "Show calls, latency, cache hits and errors of each tool",
		Args: cobra.NoArgs, RunE: r.Run(tools),
	}
	command.PeriodFlag(tools)
	tools.Flags().String("source", "", "only tools of this source")
	tools.Flags().String("tool", "", "only this tool")
	sessions := &cobra.Command{Use: "sessions", Short: "Count sessions and messages", Args: cobra.NoArgs, RunE: r.Run(sessions)}
	recent := &cobra.Command{
		Use: "recent [--limit N] [--tool NAME]", Short: "Show the last tool calls with input and output", Args: cobra.NoArgs,
		RunE: r.Run(recent),
	}
	recent.Flags().Int("limit", 20, "show so many at most, up to 100")
	recent.Flags().String("tool", "", "only calls of this tool")
	return usage.Group("analytics", "Analytics: how tools and sessions are used", nil, tools, sessions, recent)
}

func tools(c *command.Call) error {
	period, err := c.Period()
	if err != nil {
		return err
	}
	var got registryv1.ToolAnalytics
	raw, err := c.Do(&registryv1.GetToolAnalyticsRequest{Period: period, Source: c.Flag("source"), Tool: c.Flag("tool")}, &got)
	if err != nil {
		return err
	}
	var names []string
	var rows [][]string
	for _, u := range got.GetTools() {
		names = append(names, u.GetTool())
		rows = append(rows, []string{
			u.GetTool(), fmt.Sprint(u.GetCalls()), fmt.Sprintf("%.1f", u.GetMeanLatencyMs()), fmt.Sprintf("%.1f", u.GetP95LatencyMs()),
			output.Percent(u.GetCacheHitRate()), output.Percent(u.GetErrorRate()),
		})
	}
	return c.PrintTable(strings.Join(names, "\n"), raw, []string{"TOOL", "CALLS", "MEAN MS", "P95 MS", "CACHE HITS", "ERRORS"}, rows...)
}

func sessions(c *command.Call) error {
	var s sessionsv1.SessionAnalytics
	raw, err := c.Do(&sessionsv1.GetSessionAnalyticsRequest{}, &s)
	if err != nil {
		return err
	}
	return c.PrintTable("", raw, []string{"SESSIONS", "MESSAGES", "PER SESSION", "ACTIVE IN THE LAST HOUR"}, []string{
		fmt.Sprint(s.GetTotal()), fmt.Sprint(s.GetMessages()), fmt.Sprintf("%.1f", s.GetMessagesPerSession()), fmt.Sprint(s.GetActiveLastHour()),
	})
}

func recent(c *command.Call) error {
	req := &registryv1.ListRecentExecutionsRequest{}
	if err := c.Given(req, "limit", "tool"); err != nil {
		return err
	}
	var got registryv1.ListRecentExecutionsResponse
	raw, err := c.Do(req, &got)
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
	return c.PrintTable(strings.Join(ids, "\n"), raw, []string{"AGE", "TOOL", "SUBJECT", "STATE", "MS", "CACHE", "INPUT", "OUTPUT"}, rows...)
}
