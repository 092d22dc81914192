// Package group has the commands for tool groups.
package group

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Noun returns "windlass group".
func Noun() command.Noun {
	return command.Noun{
		Name: "group", Plural: "tool_groups", Short: "Tool groups: named sets of tools", Manifest: true, More: commands,
		List: &registryv1.ListToolGroupsRequest{}, Get: &registryv1.GetToolGroupRequest{}, Remove: &registryv1.DeleteToolGroupRequest{},
		Header: []string{"NAME", "SELECTORS", "TOOLS", "EXCLUDE", "MEMBERS", "UPDATED", "DESCRIPTION"},
		Read: command.Typed((*registryv1.ToolGroup).GetName, func(m *registryv1.ToolGroup, now time.Time) []string {
			var selectors []string
			for _, s := range m.GetSelectors() {
				selectors = append(selectors, selectorText(s))
			}
			short := func(names []string) string { return output.Cell(strings.Join(names, ",")) }
			return []string{
				m.GetName(), short(selectors), short(m.GetTools()), short(m.GetExclude()), short(m.GetMembers()),
				output.Ago(now, m.GetUpdateTime().AsTime()), output.Cell(m.GetDescription()),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use:   "create NAME [--select SOURCE/TOOL]… [--effect CLASS]… [--label NAME=VALUE]… [--tool NAME]… [--exclude NAME]…",
		Short: "Create a tool group, which agents reference as group:NAME",
		Example: "  windlass group create reading --select 'github/list_*' --select 'files/read_*' --exclude '*__*secret*'\n" +
			"  windlass group create harmless --effect read",
		Args: cobra.ExactArgs(1), RunE: r.Run(create),
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
		Use: "explain NAME TOOL", Short: "Say why a tool is in a group, or why not", Args: cobra.ExactArgs(2), RunE: r.Run(explain),
		Example: "  windlass group explain reading github__list_issues",
	}
	return []*cobra.Command{create, explain}
}

func explain(c *command.Call) error {
	var e registryv1.ExplainToolGroupResponse
	raw, err := c.Do(&registryv1.ExplainToolGroupRequest{Name: c.Args[0], Tool: c.Args[1]}, &e)
	if err != nil {
		return err
	}
	lines := []string{e.GetMessage()}
	for _, u := range e.GetUnmet() {
		lines = append(lines, "  "+u.GetSelector()+": "+u.GetMessage())
	}
	return c.Printf(e.GetTool(), raw, "%s", strings.Join(lines, "\n"))
}

func create(c *command.Call) error {
	selectors, err := selectors(c)
	if err != nil {
		return err
	}
	want := &registryv1.ToolGroup{Name: c.Args[0], Selectors: selectors}
	if err := c.Given(want, "description", "tool=tools", "exclude"); err != nil {
		return err
	}
	var g registryv1.ToolGroup
	raw, err := c.Do(&registryv1.CreateToolGroupRequest{ToolGroup: want}, &g)
	if err != nil {
		return err
	}
	if len(g.GetMembers()) == 0 {
		c.Note("no tool is in %s yet", g.GetName())
	} else {
		c.Note("%s stands for %d tools now", g.GetName(), len(g.GetMembers()))
	}
	return Noun().Print(c, raw)
}

// selectors reads the selectors of a new group: effects and labels narrow each of them, or form a selector if there is none.
func selectors(c *command.Call) ([]*registryv1.ToolSelector, error) {
	selects, _ := c.Cmd.Flags().GetStringArray("select") // the flags exist
	classes, _ := c.Cmd.Flags().GetStringArray("effect")
	each := &registryv1.ToolSelector{}
	if err := c.Given(each, "label=labels", "tag=tags"); err != nil {
		return nil, err
	}
	for _, class := range classes {
		effect := enum.Parse[turnv1.EffectClass](class)
		if effect == 0 {
			return nil, app.Usage("--effect %q: want read, idempotent or once", class)
		}
		each.Effects = append(each.Effects, effect)
	}
	if len(selects) == 0 && proto.Size(each) > 0 {
		selects = []string{"*/*"}
	}
	var out []*registryv1.ToolSelector
	for _, s := range selects {
		source, tool, ok := strings.Cut(s, "/")
		if !ok {
			return nil, app.Usage("--select %q: want SOURCE/TOOL, for example 'notes/*' or '*/read_*'", s)
		}
		selector := proto.CloneOf(each)
		selector.Source, selector.Name = source, tool
		out = append(out, selector)
	}
	return out, nil
}

// selectorText formats a selector of a tool group on one line, for example "github/* read team=pay #orders".
func selectorText(s *registryv1.ToolSelector) string {
	words := []string{cmp.Or(s.GetSource(), "*") + "/" + cmp.Or(s.GetName(), "*")}
	for _, e := range s.GetEffects() {
		words = append(words, enum.Name(e))
	}
	for _, name := range slices.Sorted(maps.Keys(s.GetLabels())) {
		words = append(words, name+"="+s.GetLabels()[name])
	}
	for _, tag := range s.GetTags() {
		words = append(words, "#"+tag)
	}
	return strings.Join(words, " ")
}
