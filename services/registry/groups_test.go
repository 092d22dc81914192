package registry_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestToolGroups(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	create := func(g *registryv1.ToolGroup) *registryv1.ToolGroup {
		t.Helper()
		got, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: g})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	reading := create(&registryv1.ToolGroup{
		Name: "reading", Selectors: []*registryv1.ToolSelector{{Source: "notes"}}, Tools: []string{"later__read"}, Exclude: []string{"*__send"},
	})
	if got := strings.Join(reading.GetMembers(), " "); got != "notes__put notes__read" {
		t.Errorf("members: %s", got)
	}
	create(&registryv1.ToolGroup{Name: "all", Selectors: []*registryv1.ToolSelector{{}}})

	resolve := func(globs ...string) (names []string, err error) {
		resp, err := r.calls.ResolveTools(t.Context(), &registryv1.ResolveToolsRequest{Globs: globs, Principal: authn.Local()})
		for _, tool := range resp.GetTools() {
			names = append(names, tool.GetName())
		}
		return names, err
	}
	r.meshTools()
	if got, err := resolve("group:reading", "mesh__uuid"); err != nil || strings.Join(got, " ") != "mesh__uuid notes__put notes__read" {
		t.Errorf("resolved %v, %v", got, err)
	}
	if got, err := resolve("group:all"); err != nil || slices.Contains(got, "mesh__ask_user") || !slices.Contains(got, "notes__send") {
		t.Errorf("all: %v, %v", got, err)
	}
	if _, err := resolve("group:none"); fault.CodeOf(err) != "failed_precondition" || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("a group that is not there: %v", err)
	}

	w.policy.set(func() { w.policy.allow = []string{"notes__read"} })
	got, err := r.groups.GetToolGroup(t.Context(), &registryv1.GetToolGroupRequest{Name: "reading"})
	if err != nil || strings.Join(got.GetMembers(), " ") != "notes__read" {
		t.Errorf("members for one who may use little: %v, %v", got.GetMembers(), err)
	}
	w.policy.set(func() { w.policy.allow = []string{"*"} })
	changed, err := r.groups.UpdateToolGroup(t.Context(), &registryv1.UpdateToolGroupRequest{
		ToolGroup: &registryv1.ToolGroup{Name: "reading", Description: "ignored"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"exclude"}},
	})
	if err != nil || len(changed.GetMembers()) != 3 || changed.GetDescription() != "" {
		t.Errorf("without exclusion: %v, %v", changed, err)
	}
	list, err := r.groups.ListToolGroups(t.Context(), &registryv1.ListToolGroupsRequest{PageSize: 1})
	if err != nil || len(list.GetToolGroups()) != 1 || list.GetToolGroups()[0].GetName() != "all" || list.GetNextPageToken() == "" {
		t.Errorf("first page: %v, %v", list, err)
	}
	list, err = r.groups.ListToolGroups(t.Context(), &registryv1.ListToolGroupsRequest{PageSize: 1, PageToken: list.GetNextPageToken()})
	if err != nil || len(list.GetToolGroups()) != 1 || list.GetToolGroups()[0].GetName() != "reading" || list.GetNextPageToken() != "" {
		t.Errorf("second page: %v, %v", list, err)
	}
	if _, err := r.groups.DeleteToolGroup(t.Context(), &registryv1.DeleteToolGroupRequest{Name: "reading"}); err != nil {
		t.Error(err)
	}
	if _, err := resolve("group:reading"); err == nil {
		t.Error("a deleted group still stands for tools")
	}
}

// TestToolGroupsByEffectAndLabel selects tools by effect class and by the labels of their sources.
func TestToolGroupsByEffectAndLabel(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.bridge.set(func() { w.bridge.tools["bank"] = []*mcpbridgev1.Tool{tool("balance", "read"), tool("pay", "once")} })
	if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "bank", Kind: "mcp", Url: "http://127.0.0.1:9/mcp", Labels: map[string]string{"team": "pay"},
	}}); err != nil {
		t.Fatal(err)
	}
	read := []turnv1.EffectClass{turnv1.EffectClass_EFFECT_CLASS_READ}
	for name, row := range map[string]struct {
		selectors []*registryv1.ToolSelector
		want      string
	}{
		"reading":  {[]*registryv1.ToolSelector{{Source: "notes", Effects: read}, {Source: "bank", Effects: read}}, "bank__balance notes__read"},
		"payments": {[]*registryv1.ToolSelector{{Labels: map[string]string{"team": "pay"}}}, "bank__balance bank__pay"},
		"both": {
			[]*registryv1.ToolSelector{{Labels: map[string]string{"team": "pay"}, Effects: read}, {Name: "put"}},
			"bank__balance notes__put",
		},
	} {
		got, err := r.groups.CreateToolGroup(t.Context(),
			&registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{Name: name, Selectors: row.selectors}})
		if err != nil || strings.Join(got.GetMembers(), " ") != row.want ||
			len(got.GetSelectors()[0].GetEffects())+len(got.GetSelectors()[0].GetLabels()) == 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		resp, err := r.calls.ResolveTools(t.Context(),
			&registryv1.ResolveToolsRequest{Globs: []string{"group:" + name}, Principal: authn.Local()})
		var names []string
		for _, tool := range resp.GetTools() {
			names = append(names, tool.GetName())
		}
		if err != nil || strings.Join(names, " ") != row.want {
			t.Errorf("%s resolved to %v, %v", name, names, err)
		}
	}
	_, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
		Name: "bad", Selectors: []*registryv1.ToolSelector{{Effects: []turnv1.EffectClass{0}}},
	}})
	if fault.CodeOf(err) != "invalid_argument" || !strings.Contains(err.Error(), "effects") {
		t.Errorf("an effect that there is not: %v", err)
	}
}

func TestToolGroupsByTag(t *testing.T) {
	r := newWorld(t).start(config())
	r.createHTTP(&registryv1.Source{Name: "shop", BaseUrl: "http://127.0.0.1:1", Endpoints: []*registryv1.Endpoint{
		{Name: "list", Path: "/", Tags: []string{"pets", "public"}},
		{Name: "sell", Method: "POST", Path: "/", Tags: []string{"orders"}},
		{Name: "ping", Path: "/"},
	}})
	g, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
		Name: "tagged", Selectors: []*registryv1.ToolSelector{{Source: "shop", Tags: []string{"public", "orders"}}},
	}})
	if err != nil || strings.Join(g.GetMembers(), " ") != "shop__list shop__sell" {
		t.Errorf("created: %v, %v", g, err)
	}
	why, err := r.groups.ExplainToolGroup(t.Context(), &registryv1.ExplainToolGroupRequest{Name: "tagged", Tool: "shop__ping"})
	if err != nil || why.GetMember() || why.GetUnmet()[0].GetMessage() != "the tags are none, and public or orders is asked for" {
		t.Errorf("explained: %v, %v", why, err)
	}
	resolved, err := r.calls.ResolveTools(t.Context(), &registryv1.ResolveToolsRequest{
		Globs: []string{"group:tagged"}, Principal: authn.Local(),
	})
	if err != nil || len(resolved.GetTools()) != 2 {
		t.Errorf("resolved: %v, %v", resolved, err)
	}
	checked, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{
		ToolGroup: &registryv1.ToolGroup{Name: "checked"}, ValidateOnly: true,
	})
	if err != nil || checked.GetName() != "checked" {
		t.Errorf("checked: %v, %v", checked, err)
	}
	if _, err := r.groups.GetToolGroup(t.Context(), &registryv1.GetToolGroupRequest{Name: "checked"}); err == nil {
		t.Error("a group that was only checked is there")
	}
}

func TestToolGroupsRefuse(t *testing.T) {
	r := newWorld(t).start(config())
	create := func(g *registryv1.ToolGroup) error {
		_, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: g})
		return err
	}
	if err := create(&registryv1.ToolGroup{Name: "there"}); err != nil {
		t.Fatal(err)
	}
	_, gone := r.groups.GetToolGroup(t.Context(), &registryv1.GetToolGroupRequest{Name: "none"})
	_, field := r.groups.UpdateToolGroup(t.Context(), &registryv1.UpdateToolGroupRequest{
		ToolGroup: &registryv1.ToolGroup{Name: "there"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"members", "colour"}},
	})
	for what, row := range map[string]struct {
		err        error
		code, says string
	}{
		"a second one":        {create(&registryv1.ToolGroup{Name: "there"}), "already_exists", "there"},
		"no name":             {create(&registryv1.ToolGroup{}), "invalid_argument", "name"},
		"a bad name":          {create(&registryv1.ToolGroup{Name: "No"}), "invalid_argument", "lower-case"},
		"a pattern as a name": {create(&registryv1.ToolGroup{Name: "x", Tools: []string{"a__*"}}), "invalid_argument", "selector"},
		"a label too long": {
			create(&registryv1.ToolGroup{Name: "x", Selectors: []*registryv1.ToolSelector{
				{},
				{Labels: map[string]string{"team": strings.Repeat("x", 257)}},
			}}),
			"invalid_argument", "tool_group.selectors[1].labels",
		},
		"a pattern that fits nothing": {
			create(&registryv1.ToolGroup{Name: "x", Selectors: []*registryv1.ToolSelector{{}, {Name: "de[l]ete"}}}), "invalid_argument",
			"tool_group.selectors[1].name",
		},
		"an exclusion that excludes nothing": {
			create(&registryv1.ToolGroup{Name: "x", Exclude: []string{"notes__{create,delete}"}}), "invalid_argument", "tool_group.exclude[0]",
		},
		"one that is not there": {gone, "not_found", "none"},
		"an unknown field":      {field, "invalid_argument", "colour"},
	} {
		if fault.CodeOf(row.err) != row.code || !strings.Contains(row.err.Error(), row.says) {
			t.Errorf("%s: %v", what, row.err)
		}
	}
}

func TestExplainToolGroup(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	r.meshTools()
	_, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
		Name: "some", Tools: []string{"mesh__uuid", "later__read"}, Exclude: []string{"*__send"},
		Selectors: []*registryv1.ToolSelector{
			{Source: "note*", Name: "re*"},
			{Source: "notes", Effects: []turnv1.EffectClass{turnv1.EffectClass_EFFECT_CLASS_READ}},
			{Labels: map[string]string{"team": "pay", "zone": "eu"}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.policy.set(func() { w.policy.allow = []string{"notes__*", "mesh__uuid", "mesh__ask_user"} })
	for _, row := range []struct {
		tool, cause, rule, message string
		unmet                      []string
	}{
		{"mesh__uuid", "LISTED", "tools[0]", "mesh__uuid is in some: tools[0] lists it.", nil},
		{"notes__read", "SELECTED", "selectors[0]", "notes__read is in some: it matches selectors[0].", nil},
		{"notes__send", "EXCLUDED", "exclude[0]", `notes__send is not in some: exclude[0] excludes "*__send".`, nil},
		{"notes__put", "NOT_SELECTED", "", "notes__put is not in some: it is not listed, and no selector matches it.", []string{
			`selectors[0] name: the name is "put", not "re*"`,
			"selectors[1] effects: the effect class is idempotent, not read",
			`selectors[2] labels: the source "notes" has not the labels team=pay, zone=eu`,
		}},
		{"mesh__ask_user", "NOT_SELECTED", "", "mesh__ask_user is not in some: it is not listed, and no selector matches it.", []string{
			`selectors[0] source: mesh__ask_user is selected only where the source is written as "mesh"`,
			`selectors[1] source: mesh__ask_user is selected only where the source is written as "mesh"`,
			`selectors[2] source: mesh__ask_user is selected only where the source is written as "mesh"`,
		}},
		{"notes__raed", "NOT_AVAILABLE", "", `There is no tool "notes__raed" that you may use. Did you mean "notes__read"?`, nil},
		{"later__read", "NOT_AVAILABLE", "tools[1]", "", nil},
		{"mesh__current_time", "NOT_AVAILABLE", "", `There is no tool "mesh__current_time" that you may use.`, nil}, // exists, but is not allowed
		{"a\x00b", "NOT_AVAILABLE", "", "", nil},
	} {
		got, err := r.groups.ExplainToolGroup(t.Context(), &registryv1.ExplainToolGroupRequest{Name: "some", Tool: row.tool})
		if err != nil {
			t.Errorf("%q: %v", row.tool, err)
			continue
		}
		var unmet []string
		for _, u := range got.GetUnmet() {
			unmet = append(unmet, u.GetSelector()+" "+u.GetCondition()+": "+u.GetMessage())
		}
		if got.GetCause().String() != "TOOL_GROUP_CAUSE_"+row.cause || got.GetRule() != row.rule || !slices.Equal(unmet, row.unmet) ||
			got.GetMember() != (row.cause == "LISTED" || row.cause == "SELECTED") || row.message != "" && got.GetMessage() != row.message {
			t.Errorf("%q: %v", row.tool, got)
		}
	}
	_, err = r.groups.ExplainToolGroup(t.Context(), &registryv1.ExplainToolGroupRequest{Name: "none", Tool: "notes__read"})
	if fault.CodeOf(err) != "not_found" || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("of a group that is not there: %v", err)
	}
}
