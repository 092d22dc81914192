package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func groups() noun {
	return noun{
		name: "group", plural: "tool_groups", short: "Tool groups: named sets of tools", path: "/v1/tool-groups", get: true, remove: true,
		manifest: true, more: groupCommands,
		header: []string{"NAME", "SELECTORS", "TOOLS", "EXCLUDE", "MEMBERS", "UPDATED", "DESCRIPTION"},
		read: typed((*registryv1.ToolGroup).GetName, func(m *registryv1.ToolGroup, now time.Time) []string {
			var selectors []string
			for _, s := range m.GetSelectors() {
				selectors = append(selectors, show.Selector(s))
			}
			short := func(names []string) string { return output.Cell(strings.Join(names, ",")) }
			return []string{
				m.GetName(), short(selectors), short(m.GetTools()), short(m.GetExclude()), short(m.GetMembers()),
				output.Ago(now, m.GetUpdateTime().AsTime()), output.Cell(m.GetDescription()),
			}
		}),
	}
}

func groupCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use:   "create NAME [--select SOURCE/TOOL]… [--effect CLASS]… [--label NAME=VALUE]… [--tool NAME]… [--exclude NAME]…",
		Short: "Create a tool group, which agents reference as group:NAME",
		Example: "  windlass group create reading --select 'github/list_*' --select 'files/read_*' --exclude '*__*secret*'\n" +
			"  windlass group create harmless --effect read",
		Args: cobra.ExactArgs(1), RunE: run(a, createGroup),
	}
	f := create.Flags()
	f.StringArray("select", nil, "globs over source and tool, as SOURCE/TOOL; may be repeated")
	f.StringArray("effect", nil, "only tools with this effect class, in each --select: read, idempotent or once; may be repeated")
	f.StringToString("label", nil, "only tools of sources with this label, in each --select, as NAME=VALUE; may be repeated")
	f.StringSlice("tag", nil, "tools with one of these tags")
	f.StringArray("tool", nil, "name of a tool that is in the group too; may be repeated")
	f.StringArray("exclude", nil, "name or glob of tools that are not in the group whatever else says so; may be repeated")
	f.String("description", "", "what the group is for")
	explain := &cobra.Command{
		Use: "explain NAME TOOL", Short: "Say why a tool is in a group, or why not", Args: cobra.ExactArgs(2), RunE: run(a, explainGroup),
		Example: "  windlass group explain reading github__list_issues",
	}
	return []*cobra.Command{create, explain}
}

func explainGroup(c *call) error {
	var e registryv1.ExplainToolGroupResponse
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodGet, Path: "/v1/tool-groups/" + url.PathEscape(c.args[0]) + ":explain", Query: url.Values{"tool": {c.args[1]}},
	}, &e)
	if err != nil {
		return err
	}
	return c.print(e.GetTool(), raw, func(w io.Writer) error {
		lines := []string{e.GetMessage()}
		for _, u := range e.GetUnmet() {
			lines = append(lines, "  "+u.GetSelector()+": "+u.GetMessage())
		}
		_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	})
}

func createGroup(c *call) error {
	body := map[string]any{"name": c.args[0]}
	if v := flag(c.cmd, "description"); v != "" {
		body["description"] = v
	}
	for name, field := range map[string]string{"tool": "tools", "exclude": "exclude"} {
		list, err := c.cmd.Flags().GetStringArray(name)
		if err != nil {
			return app.Usage("%s", err)
		}
		if len(list) > 0 {
			body[field] = list
		}
	}
	selectors, err := groupSelectors(c)
	if err != nil {
		return err
	}
	if len(selectors) > 0 {
		body["selectors"] = selectors
	}
	var g registryv1.ToolGroup
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/tool-groups", Body: body}, &g)
	if err != nil {
		return err
	}
	if len(g.GetMembers()) == 0 {
		c.note("no tool is in %s yet", g.GetName())
	} else {
		c.note("%s", fmt.Sprintf("%s stands for %d tools now", g.GetName(), len(g.GetMembers())))
	}
	return groups().printOne(c, raw)
}

// groupSelectors reads the selectors of a new group: effects and labels narrow each of them, or form a selector if there is none.
func groupSelectors(c *call) ([]map[string]any, error) {
	selects, err := c.cmd.Flags().GetStringArray("select")
	if err != nil {
		return nil, app.Usage("%s", err)
	}
	classes, err := c.cmd.Flags().GetStringArray("effect")
	if err != nil {
		return nil, app.Usage("%s", err)
	}
	labels, err := c.cmd.Flags().GetStringToString("label")
	if err != nil {
		return nil, app.Usage("%s", err)
	}
	var effects []string
	for _, class := range classes {
		if !slices.Contains([]string{"read", "idempotent", "once"}, class) {
			return nil, app.Usage("--effect %q: want read, idempotent or once", class)
		}
		effects = append(effects, "EFFECT_CLASS_"+strings.ToUpper(class))
	}
	tags, err := c.cmd.Flags().GetStringSlice("tag")
	if err != nil {
		return nil, app.Usage("%s", err)
	}
	if len(selects) == 0 && len(effects)+len(labels)+len(tags) > 0 {
		selects = []string{"*/*"}
	}
	var out []map[string]any
	for _, s := range selects {
		source, tool, ok := strings.Cut(s, "/")
		if !ok {
			return nil, app.Usage("--select %q: want SOURCE/TOOL, for example 'notes/*' or '*/read_*'", s)
		}
		out = append(out, map[string]any{"source": source, "name": tool, "effects": effects, "labels": labels, "tags": tags})
	}
	return out, nil
}
