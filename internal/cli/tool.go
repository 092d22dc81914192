package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func toolCommands(a *app.App) []*cobra.Command {
	invoke := &cobra.Command{
		Use: "invoke NAME [ARGUMENTS]", Short: "Run a tool, on the same path as an agent's calls",
		Long: "Run a tool without an agent: with the same policy, validation and ledger as in a turn.\n" +
			"ARGUMENTS is a JSON object; - reads standard input, @FILE a file. The exit code is 1 when the tool says no.",
		Example: `  windlass tool invoke calculator__evaluate '{"expression":"17 * 23"}'`,
		Args:    cobra.RangeArgs(1, 2), RunE: run(a, invokeTool),
	}
	invoke.Flags().String("key", "", "idempotency key: the same key is the same execution")
	invoke.Flags().Bool("fresh", false, "run the tool even if its answer is cached")
	search := &cobra.Command{
		Use: "search WORDS…", Short: "Find tools by what they do, best first", Example: "  windlass tool search create an issue",
		Args: cobra.MinimumNArgs(1), RunE: run(a, func(c *call) error {
			query := url.Values{"query": {strings.Join(c.args, " ")}}
			for _, name := range []string{"source", "limit"} {
				if v := flag(c.cmd, name); v != "" && v != "0" {
					query.Set(name, v)
				}
			}
			var found registryv1.SearchToolsResponse
			raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodGet, Path: "/v1/tools:search", Query: query}, &found)
			if err != nil {
				return err
			}
			return c.print(show.ToolNames(&found), raw, func(w io.Writer) error { return show.FoundTools(w, &found, 2*output.CellWidth) })
		}),
	}
	search.Flags().String("source", "", "only tools of this source")
	search.Flags().Uint32("limit", 0, "how many tools to show, 0 = 10")
	return []*cobra.Command{invoke, search}
}

func invokeTool(c *call) error {
	arguments := json.RawMessage(`{}`)
	if len(c.args) == 2 {
		raw, err := readArgument(c.App, c.args[1])
		if err != nil {
			return err
		}
		if !json.Valid(raw) {
			return app.Usage("the arguments are no valid JSON: %s", output.Cell(string(raw)))
		}
		arguments = raw
	}
	body := map[string]any{"arguments": arguments}
	if flag(c.cmd, "fresh") == "true" {
		body["fresh"] = true
	}
	var answer registryv1.InvokeToolResponse
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/tools" + client.Path(c.args[0]) + ":invoke", Body: body, Key: flag(c.cmd, "key"),
	}, &answer)
	if err != nil {
		return err
	}
	if err := c.print(answer.GetExecutionId(), raw, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, output.Text(show.Parts(answer.GetContent())))
		return err
	}); err != nil {
		return err
	}
	if answer.GetIsError() {
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}

// readArgument returns an argument's text, or the text that it refers to: "-" is standard input, "@FILE" a file.
func readArgument(a *app.App, arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return a.ReadIn()
	case len(arg) > 1 && arg[0] == '@':
		return os.ReadFile(arg[1:])
	default:
		return []byte(arg), nil
	}
}
