// Package tool has the commands for tools.
package tool

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Noun returns "windlass tool".
func Noun() command.Noun {
	return command.Noun{
		Name: "tool", Plural: "tools", Short: "Tools: what agents may call", More: commands,
		List: &registryv1.ListToolsRequest{}, Get: &registryv1.GetToolRequest{},
		Filters: []command.Filter{
			{Name: "source", Usage: "only tools of this source"},
			{Name: "tag", Usage: "only tools with this tag"},
			{Name: "effect", Usage: "only tools of this effect class: read, idempotent or once"},
		},
		Header: header(), Read: command.Typed((*registryv1.Tool).GetName, row),
	}
}

func header() []string { return []string{"NAME", "EFFECT", "AVAILABLE", "DESCRIPTION"} }

func row(m *registryv1.Tool, _ time.Time) []string {
	return []string{
		m.GetName(), enum.Name(m.GetEffect()), output.YesNo(m.GetAvailable()), output.Short(m.GetDescription(), 2*output.CellWidth),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	invoke := &cobra.Command{
		Use: "invoke NAME [ARGUMENTS]", Short: "Run a tool, on the same path as an agent's calls",
		Long: "Run a tool without an agent: with the same policy, validation and ledger as in a turn.\n" +
			"ARGUMENTS is a JSON object; - reads standard input, @FILE a file. The exit code is 1 when the tool says no.",
		Example: `  windlass tool invoke calculator__evaluate '{"expression":"17 * 23"}'`,
		Args:    cobra.RangeArgs(1, 2), RunE: r.Run(invoke),
	}
	invoke.Flags().String("key", "", "idempotency key: the same key is the same execution")
	invoke.Flags().Bool("fresh", false, "run the tool even if its answer is cached")
	search := &cobra.Command{
		Use: "search WORDS…", Short: "Find tools by what they do, best first", Example: "  windlass tool search create an issue",
		Args: cobra.MinimumNArgs(1), RunE: r.Run(func(c *command.Call) error {
			req := &registryv1.SearchToolsRequest{Query: strings.Join(c.Args, " ")}
			if err := c.Given(req, "source", "limit"); err != nil {
				return err
			}
			var found registryv1.SearchToolsResponse
			raw, err := c.Do(req, &found)
			if err != nil {
				return err
			}
			return printFound(c, raw, &found)
		}),
	}
	search.Flags().String("source", "", "only tools of this source")
	search.Flags().Uint32("limit", 0, "how many tools to show, 0 = 10")
	return []*cobra.Command{invoke, search}
}

// printFound prints the tools that a search found, best first.
func printFound(c *command.Call, raw json.RawMessage, found *registryv1.SearchToolsResponse) error {
	var names []string
	var rows [][]string
	for _, f := range found.GetTools() {
		names = append(names, f.GetTool().GetName())
		rows = append(rows, row(f.GetTool(), c.Now))
	}
	return c.PrintTable(strings.Join(names, "\n"), raw, header(), rows...)
}

func invoke(c *command.Call) error {
	arguments := json.RawMessage(`{}`)
	if len(c.Args) == 2 {
		raw, err := c.Argument(c.Args[1])
		if err != nil {
			return err
		}
		if !json.Valid(raw) {
			return app.Usage("the arguments are no valid JSON: %s", output.Cell(string(raw)))
		}
		arguments = raw
	}
	req := &registryv1.InvokeToolRequest{Name: c.Args[0], IdempotencyKey: c.Flag("key"), Fresh: c.Bool("fresh")}
	if err := client.Set(req, "arguments", arguments); err != nil {
		return err
	}
	var answer registryv1.InvokeToolResponse
	raw, err := c.Do(req, &answer)
	if err != nil {
		return err
	}
	if err := c.Printf(answer.GetExecutionId(), raw, "%s", output.Text(show.Parts(answer.GetContent()))); err != nil {
		return err
	}
	if answer.GetIsError() {
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}
