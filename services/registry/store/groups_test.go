package store

import "testing"

func TestGroupHolds(t *testing.T) {
	spec := GroupSpec{
		Selectors: []Selector{{Source: "git*", Name: "list_*"}, {Source: "notes"}, {Name: "search"}},
		Tools:     []string{"mail__send", "git__delete_all"},
		Exclude:   []string{"*__delete*", "notes__wipe"},
	}
	for tool, want := range map[string]bool{
		"github__list_issues": true,
		"github__get_issue":   false,
		"notes__read":         true,
		"notes__wipe":         false,
		"web__search":         true,
		"web__search_all":     false,
		"mail__send":          true,
		"mail__read":          false,
		"git__delete_all":     false,
	} {
		if got := spec.MayHold(tool); got != want {
			t.Errorf("%s is in the group: %v, want %v", tool, got, want)
		}
	}
	if (GroupSpec{}).MayHold("a__b") {
		t.Error("a group that names nothing stands for something")
	}
	if !(GroupSpec{Selectors: []Selector{{}}}).MayHold("a__b") {
		t.Error("a selector without conditions does not fit everything")
	}
}

func TestGroupHoldsByMoreThanNames(t *testing.T) {
	tool := func(name string, effect Effect, labels map[string]string) Tool {
		return Tool{Name: name, Effect: effect, Source: Source{Spec: Spec{Labels: labels}}}
	}
	pay := map[string]string{"team": "pay", "zone": "eu"}
	reading := GroupSpec{
		Selectors: []Selector{{Source: "a", Effects: []Effect{Read, Idempotent}}}, Tools: []string{"a__named"},
		Exclude: []string{"*__wipe"},
	}
	team := GroupSpec{Selectors: []Selector{{Labels: map[string]string{"team": "pay"}}, {Name: "free"}}}
	for _, row := range []struct {
		name  string
		group GroupSpec
		tool  Tool
		may   bool
		holds bool
	}{
		{"an effect that fits", reading, tool("a__get", Read, nil), true, true},
		{"the other one", reading, tool("a__put", Idempotent, nil), true, true},
		{"an effect that does not", reading, tool("a__send", Once, nil), true, false},
		{"an effect that nobody knows", reading, tool("a__what", Unknown, nil), true, false},
		{"of another source", reading, tool("b__get", Read, nil), false, false},
		{"named, whatever its effect", reading, tool("a__named", Once, nil), true, true},
		{"excluded, whatever its effect", reading, tool("a__wipe", Read, nil), false, false},
		{"a label that fits", team, tool("x__y", Once, pay), true, true},
		{"another value", team, tool("x__y", Once, map[string]string{"team": "ops"}), true, false},
		{"no labels", team, tool("x__y", Once, nil), true, false},
		{"by the other selector", team, tool("x__free", Once, nil), true, true},
		{
			"all labels have to fit",
			GroupSpec{Selectors: []Selector{{Labels: map[string]string{"team": "pay", "zone": "us"}}}},
			tool("x__y", Once, pay), true, false,
		},
	} {
		if may, holds := row.group.MayHold(row.tool.Name),
			row.group.Holds(row.tool); may != row.may || holds != row.holds || row.group.ByNameAlone() {
			t.Errorf("%s: may %v, holds %v", row.name, may, holds)
		}
	}
	if !(GroupSpec{Selectors: []Selector{{Source: "a"}}}).ByNameAlone() {
		t.Error("a name tells all")
	}
}
