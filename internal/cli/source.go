package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func sourceCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME {--url URL | -- COMMAND [ARGUMENT…]}", Short: "Register an MCP server and list its tools",
		Example: "  windlass source create notes --url http://127.0.0.1:9000/mcp\n  windlass source create files -- npx -y " +
			"@modelcontextprotocol/server-filesystem /tmp",
		Args: cobra.MinimumNArgs(1), RunE: run(a, createSource),
	}
	f := create.Flags()
	f.String("url", "", "endpoint of a server over HTTP")
	f.String("transport", "", "force a transport: http, sse or stdio")
	f.String("elicitation", "", "what becomes of questions that its tools ask the user: reissue (default) or off")
	f.String("dir", "", "working directory of the command")
	f.StringToString("env", nil, `environment of the command, as NAME=VALUE; write a secret as '${env:NAME}'`)
	f.StringToString("header", nil, `headers of requests, as NAME=VALUE; write a secret as '${env:NAME}'`)
	f.Uint32("timeout", 0, "seconds that a call may take, 0 = 120")

	sync := &cobra.Command{
		Use: "sync [ID]", Short: "Find new, changed and removed tools now; without ID in all sources", Args: cobra.MaximumNArgs(1),
		RunE: run(a, syncSource),
	}
	return []*cobra.Command{create, sync}
}

func createSource(c *call) error {
	body, err := sourceBody(c)
	if err != nil {
		return err
	}
	var s registryv1.Source
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/sources", Body: body}, &s)
	if err != nil {
		return err
	}
	if s.GetState() != registryv1.SourceState_SOURCE_STATE_READY {
		c.note("%s is registered, but cannot be reached yet: %s", s.GetName(), output.Line(s.GetLastError()))
	}
	return sources().printOne(c, raw)
}

func sourceBody(c *call) (map[string]any, error) {
	body := map[string]any{"name": c.args[0], "kind": "mcp"}
	for _, name := range []string{"url", "transport", "dir", "elicitation"} {
		if v := flag(c.cmd, name); v != "" {
			body[name] = v
		}
	}
	if len(c.args) > 1 {
		body["command"] = c.args[1:]
	}
	if (body["url"] == nil) == (body["command"] == nil) {
		return nil, app.Usage("give either --url, or a command after --")
	}
	for flagName, field := range map[string]string{"env": "env", "header": "headers"} {
		m, err := c.cmd.Flags().GetStringToString(flagName)
		if err != nil {
			return nil, app.Usage("%s", err)
		}
		if len(m) > 0 {
			body[field] = m
		}
	}
	if seconds, err := c.cmd.Flags().GetUint32("timeout"); err != nil {
		return nil, app.Usage("%s", err)
	} else if seconds > 0 {
		body["call_timeout_seconds"] = seconds
	}
	return body, nil
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
		for _, name := range slices.Concat(r.GetAdded(), r.GetChanged(), r.GetRemoved()) {
			if _, err := fmt.Fprintln(c.Out, output.Line(name)); err != nil {
				return err
			}
		}
	} else if err := c.print("", raw, func(w io.Writer) error { return printSync(w, &r) }); err != nil {
		return err
	}
	if len(r.GetFailed()) > 0 {
		return fmt.Errorf("not reached: %s", output.Line(strings.Join(r.GetFailed(), "; ")))
	}
	return nil
}

func printSync(w io.Writer, r *registryv1.SyncResult) error {
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+", r.GetAdded()}, {"~", r.GetChanged()}, {"-", r.GetRemoved()}} {
		for _, name := range part.names {
			if _, err := fmt.Fprintf(w, "%s %s\n", part.sign, output.Line(name)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d tools\n", r.GetTotal())
	return err
}
