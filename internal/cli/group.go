package cli

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func groups() noun {
	return noun{
		name: "group", plural: "tool_groups", short: "Tool groups: named sets of tools", path: "/v1/tool-groups", get: true, remove: true, more: groupCommands,
		header: []string{"NAME", "SELECTORS", "TOOLS", "EXCLUDE", "MEMBERS", "UPDATED", "DESCRIPTION"},
		read: typed((*registryv1.ToolGroup).GetName, func(m *registryv1.ToolGroup, now time.Time) []string {
			var selectors []string
			for _, s := range m.GetSelectors() {
				selectors = append(selectors, orAll(s.GetSource())+"/"+orAll(s.GetName()))
			}
			short := func(names []string) string { return output.Short(strings.Join(names, ","), cellWidth) }
			return []string{
				m.GetName(), short(selectors), short(m.GetTools()), short(m.GetExclude()), short(m.GetMembers()),
				ago(now, m.GetUpdateTime().AsTime()), output.Short(m.GetDescription(), cellWidth),
			}
		}),
	}
}

func orAll(glob string) string {
	if glob == "" {
		return "*"
	}
	return glob
}

func groupCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME [--select SOURCE/TOOL]… [--tool NAME]… [--exclude NAME]…", Short: "Make a group of tools that agents name as group:NAME",
		Example: "  windlass group create reading --select 'github/list_*' --select 'files/read_*' --exclude '*__*secret*'",
		Args:    cobra.ExactArgs(1), RunE: run(a, createGroup),
	}
	f := create.Flags()
	f.StringArray("select", nil, "globs over source and tool, as SOURCE/TOOL; may be repeated")
	f.StringArray("tool", nil, "name of a tool that is in the group too; may be repeated")
	f.StringArray("exclude", nil, "name or glob of tools that are not in the group whatever else says so; may be repeated")
	f.String("description", "", "what the group is for")
	return []*cobra.Command{create}
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
	selects, err := c.cmd.Flags().GetStringArray("select")
	if err != nil {
		return app.Usage("%s", err)
	}
	var selectors []map[string]string
	for _, s := range selects {
		source, tool, ok := strings.Cut(s, "/")
		if !ok {
			return app.Usage("--select %q: want SOURCE/TOOL, for example 'notes/*' or '*/read_*'", s)
		}
		selectors = append(selectors, map[string]string{"source": source, "name": tool})
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
