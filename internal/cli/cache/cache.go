// Package cache has the commands for the cache of tool results.
package cache

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Command returns "windlass cache".
func Command(r *command.Runner) *cobra.Command {
	stats := &cobra.Command{
		Use: "stats [--period DURATION]", Short: "Show how much the cache holds and how often it was used", Args: cobra.NoArgs,
		RunE: r.Run(stats),
	}
	command.PeriodFlag(stats)
	empty := &cobra.Command{
		Use: "clear [TOOL | --source NAME | --all]", Short: "Remove results of a tool, of a source or of all tools", Args: cobra.MaximumNArgs(1),
		Example: "  windlass cache clear notes__search\n  windlass cache clear --source notes", RunE: r.Run(clearResults),
	}
	empty.Flags().String("source", "", "remove results of all tools of this source")
	empty.Flags().Bool("all", false, "remove all results of the tenant")
	return usage.Group("cache", "Cache: results of READ tools that are used again", nil, stats, empty)
}

func stats(c *command.Call) error {
	period, err := c.Period()
	if err != nil {
		return err
	}
	var s registryv1.ToolCacheStats
	raw, err := c.Do(&registryv1.GetToolCacheStatsRequest{Period: period}, &s)
	if err != nil {
		return err
	}
	return c.PrintTable("", raw, []string{"AVAILABLE", "RESULTS", "BYTES", "HITS", "MISSES", "HIT RATE", "FAILURES"}, []string{
		output.YesNo(s.GetAvailable()), fmt.Sprint(s.GetResults()), fmt.Sprint(s.GetSizeBytes()), fmt.Sprint(s.GetHits()),
		fmt.Sprint(s.GetMisses()), output.Percent(s.GetHitRate()), fmt.Sprint(s.GetFailures()),
	})
}

func clearResults(c *command.Call) error {
	req, what := &registryv1.ClearToolCacheRequest{}, "of all tools"
	source, all := c.Flag("source"), c.Bool("all")
	switch {
	case len(c.Args) == 1 && source == "" && !all:
		req.Tool, what = c.Args[0], "of "+c.Args[0]
	case len(c.Args) == 0 && source != "" && !all:
		req.Source, what = source, "of source "+source
	case len(c.Args) == 0 && source == "" && all:
	default:
		return app.Usage("say what to clear: a tool, --source or --all")
	}
	return c.Done(req, "", "results %s removed", output.Line(what))
}
