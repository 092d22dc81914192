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
		if got := spec.Holds(tool); got != want {
			t.Errorf("%s is in the group: %v, want %v", tool, got, want)
		}
	}
	if (GroupSpec{}).Holds("a__b") {
		t.Error("a group that names nothing stands for something")
	}
	if !(GroupSpec{Selectors: []Selector{{}}}).Holds("a__b") {
		t.Error("a selector without conditions does not fit everything")
	}
}
