package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/newsource"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func sourceCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME {--url URL | --openapi DOCUMENT | --graphql URL | --grpc HOST:PORT | --endpoint ENDPOINT… | " +
			"--workflow WORKFLOW… | --agents GLOB… | -- COMMAND [ARGUMENT…]}",
		Short: "Register an MCP server, an HTTP API, a gRPC server, workflows or agents, and list the tools",
		Example: "  windlass source create notes --url http://127.0.0.1:9000/mcp\n  windlass source create files -- npx -y " +
			"@modelcontextprotocol/server-filesystem /tmp\n  windlass source create pets --openapi https://petstore.example/openapi.json " +
			"--tag pets --bearer '${env:WINDLASS_TOOL_PETS}'",
		Args: cobra.MinimumNArgs(1), RunE: run(a, createSource),
	}
	newsource.Flags(create.Flags())

	update := &cobra.Command{
		Use: "update ID [flags] [-- COMMAND [ARGUMENT…]]", Short: "Change a source, and list its tools again", Args: cobra.MinimumNArgs(1),
		Long: "Changes what the flags name and leaves the rest. An empty value clears a field, as in --base-url ''. Filters of operations " +
			"and credentials are replaced as a whole.",
		Example: "  windlass source update pets --timeout 30 --exclude 'delete_*'\n" +
			"  windlass source update pets --bearer '${env:WINDLASS_TOOL_PETS}'",
		RunE: run(a, updateSource),
	}
	newsource.Flags(update.Flags())

	sync := &cobra.Command{
		Use: "sync [ID]", Short: "Find new, changed and removed tools now; without ID in all sources", Args: cobra.MaximumNArgs(1),
		RunE: run(a, syncSource),
	}
	diff := &cobra.Command{
		Use: "diff ID", Short: "Show what changed in the tools of a pinned source, and is held back", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			var r registryv1.DiffSourceResponse
			raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodGet, Path: "/v1/sources" + client.Path(c.args[0]) + ":diff"}, &r)
			if err != nil {
				return err
			}
			return c.print("", raw, func(w io.Writer) error { return show.Drift(w, &r) })
		}),
	}
	accept := &cobra.Command{
		Use: "accept ID [TOOL…]", Short: "Accept changed tools of a pinned source, all of them or those named", Args: cobra.MinimumNArgs(1),
		Long:    "Accepts changed tools of a pinned source: all of them, or those named as in the mesh or as the source names them.",
		Example: "  windlass source diff notes\n  windlass source accept notes read",
		RunE:    run(a, acceptSource),
	}
	return []*cobra.Command{create, update, sync, diff, accept}
}

// acceptSource accepts the definitions that are held back when it begins: a tool that changes again meanwhile is not accepted.
func acceptSource(c *call) error {
	path := "/v1/sources" + client.Path(c.args[0])
	var held registryv1.DiffSourceResponse
	if _, err := c.client.Do(c.ctx, client.Request{Method: http.MethodGet, Path: path + ":diff"}, &held); err != nil {
		return err
	}
	want := []map[string]string{}
	for _, t := range held.GetTools() {
		if len(c.args) == 1 || slices.ContainsFunc(c.args[1:], func(name string) bool { return names(t, name) }) {
			want = append(want, map[string]string{"name": t.GetName(), "definition_hash": t.GetDefinitionHash()})
		}
	}
	for _, name := range c.args[1:] {
		if !slices.ContainsFunc(held.GetTools(), func(t *registryv1.DriftedTool) bool { return names(t, name) }) {
			return fmt.Errorf("no changed definition of %s is held back; see windlass source diff %s", output.Line(name), output.Line(c.args[0]))
		}
	}
	if len(want) == 0 {
		c.note("nothing is held back")
		return nil
	}
	body := map[string]any{"tools": want}
	var r registryv1.AcceptSourceResponse
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: path + ":accept", Body: body}, &r)
	if err != nil {
		return err
	}
	return c.print("", raw, func(w io.Writer) error {
		for _, name := range r.GetAccepted() {
			if _, err := fmt.Fprintln(w, "tool", output.Line(name), "accepted"); err != nil {
				return err
			}
		}
		return nil
	})
}

// names reports whether a name is that of a tool in the mesh, or the one that its source uses.
func names(t *registryv1.DriftedTool, name string) bool {
	_, own, _ := strings.Cut(t.GetName(), "__")
	return t.GetName() == name || own == notInNames.ReplaceAllString(name, "_")
}

// notInNames matches what names of tools in the mesh cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func createSource(c *call) error {
	body, err := newsource.Body(c.cmd.Flags(), c.args, c.In)
	if err != nil {
		return err
	}
	var s registryv1.Source
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/sources", Body: body}, &s)
	if err != nil {
		return err
	}
	return printSource(c, &s, raw)
}

func updateSource(c *call) error {
	body, fields, err := newsource.Changes(c.cmd.Flags(), c.args, c.In)
	if err != nil {
		return err
	}
	var s registryv1.Source
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPatch, Path: "/v1/sources" + client.Path(c.args[0]), Body: body,
		Query: url.Values{"update_mask": {strings.Join(fields, ",")}},
	}, &s)
	if err != nil {
		return err
	}
	return printSource(c, &s, raw)
}

// printSource prints a source that was changed, and what its owner has to know.
func printSource(c *call, s *registryv1.Source, raw []byte) error {
	if s.GetState() != registryv1.SourceState_SOURCE_STATE_READY && !s.GetDisabled() {
		c.note("%s is registered, but its tools could not be listed yet: %s", s.GetName(), output.Line(s.GetLastError()))
	}
	for _, w := range s.GetWarnings() {
		c.note("%s: %s", s.GetName(), output.Line(w))
	}
	return sources().printOne(c, raw)
}

func syncSource(c *call) error {
	path := "/v1/tools:refresh"
	if len(c.args) == 1 {
		path = "/v1/sources" + client.Path(c.args[0]) + ":sync"
	}
	var r registryv1.SyncResult
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: path, Body: json.RawMessage(`{}`)}, &r)
	if err != nil {
		return err
	}
	if c.format == output.Name {
		for _, name := range slices.Concat(r.GetAdded(), r.GetChanged(), r.GetDrifted(), r.GetRemoved()) {
			if _, err := fmt.Fprintln(c.Out, output.Line(name)); err != nil {
				return err
			}
		}
	} else if err := c.print("", raw, func(w io.Writer) error { return show.Sync(w, &r) }); err != nil {
		return err
	}
	if len(r.GetDrifted()) > 0 {
		c.note("! has changed and is held back: see windlass source diff, then windlass source accept")
	}
	if len(r.GetFailed()) > 0 {
		return fmt.Errorf("not reached: %s", output.Line(strings.Join(r.GetFailed(), "; ")))
	}
	return nil
}
