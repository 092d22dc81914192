// Package source has the commands for sources of tools.
package source

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Noun returns "windlass source".
func Noun() command.Noun {
	return command.Noun{
		Name: "source", Plural: "sources", Short: "Sources: where tools come from", Manifest: true, Partial: true, More: commands,
		List: &registryv1.ListSourcesRequest{}, Get: &registryv1.GetSourceRequest{}, Remove: &registryv1.DeleteSourceRequest{},
		Header: []string{"NAME", "KIND", "STATE", "TOOLS", "SYNCED", "WHERE", "ERROR"},
		Read: command.Typed((*registryv1.Source).GetName, func(m *registryv1.Source, now time.Time) []string {
			where, status := cmp.Or(m.GetUrl(), strings.Join(m.GetCommand(), " "), m.GetBaseUrl()), enum.Name(m.GetState())
			if b := m.GetBreaker(); b != "" && b != "closed" {
				status += ", calls stopped"
			}
			if n := m.GetDriftedCount(); n > 0 {
				status += fmt.Sprintf(", %d drifted", n)
			}
			if n := len(m.GetWarnings()); n > 0 {
				status += fmt.Sprintf(", %d skipped", n)
			}
			if m.GetDisabled() {
				status = "disabled"
			}
			return []string{
				m.GetName(), m.GetKind(), status, fmt.Sprint(m.GetToolCount()), output.Ago(now, m.GetSyncTime().AsTime()),
				output.Cell(where), output.Short(m.GetLastError(), 2*output.CellWidth),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME {--url URL | --openapi DOCUMENT | --graphql URL | --grpc HOST:PORT | --endpoint ENDPOINT… | " +
			"--workflow WORKFLOW… | --agents GLOB… | -- COMMAND [ARGUMENT…]}",
		Short: "Register an MCP server, an HTTP API, a gRPC server, workflows or agents, and list the tools",
		Example: "  windlass source create notes --url http://127.0.0.1:9000/mcp\n  windlass source create files -- npx -y " +
			"@modelcontextprotocol/server-filesystem /tmp\n  windlass source create pets --openapi https://petstore.example/openapi.json " +
			"--tag pets --bearer '${env:WINDLASS_TOOL_PETS}'",
		Args: cobra.MinimumNArgs(1), RunE: r.Run(create),
	}
	sourceFlags(create.Flags())

	update := &cobra.Command{
		Use: "update ID [flags] [-- COMMAND [ARGUMENT…]]", Short: "Change a source, and list its tools again", Args: cobra.MinimumNArgs(1),
		Long: "Changes what the flags name and leaves the rest. An empty value clears a field, as in --base-url ''. Filters of operations " +
			"and credentials are replaced as a whole.",
		Example: "  windlass source update pets --timeout 30 --exclude 'delete_*'\n" +
			"  windlass source update pets --bearer '${env:WINDLASS_TOOL_PETS}'",
		RunE: r.Run(update),
	}
	sourceFlags(update.Flags())

	sync := &cobra.Command{
		Use: "sync [ID]", Short: "Find new, changed and removed tools now; without ID in all sources", Args: cobra.MaximumNArgs(1),
		RunE: r.Run(syncTools),
	}
	return append([]*cobra.Command{create, update, sync}, driftCommands(r)...)
}

func create(c *command.Call) error {
	want, err := newSource(c.Cmd.Flags(), c.Args, c.In)
	if err != nil {
		return err
	}
	var s registryv1.Source
	raw, err := c.Do(&registryv1.CreateSourceRequest{Source: want}, &s)
	if err != nil {
		return err
	}
	return printChanged(c, &s, raw)
}

func update(c *command.Call) error {
	want, fields, err := changes(c.Cmd.Flags(), c.Args, c.In)
	if err != nil {
		return err
	}
	want.Id = c.Args[0]
	var s registryv1.Source
	raw, err := c.Do(&registryv1.UpdateSourceRequest{Source: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}}, &s)
	if err != nil {
		return err
	}
	return printChanged(c, &s, raw)
}

// printChanged prints a source that was changed, and what its owner has to know.
func printChanged(c *command.Call, s *registryv1.Source, raw []byte) error {
	if s.GetState() != registryv1.SourceState_SOURCE_STATE_READY && !s.GetDisabled() {
		c.Note("%s is registered, but its tools could not be listed yet: %s", s.GetName(), output.Line(s.GetLastError()))
	}
	for _, w := range s.GetWarnings() {
		c.Note("%s: %s", s.GetName(), output.Line(w))
	}
	return Noun().Print(c, raw)
}
