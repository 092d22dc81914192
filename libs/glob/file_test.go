package glob

import "testing"

func TestAnyFile(t *testing.T) {
	for _, row := range []struct {
		name     string
		patterns []string
		file     string
		want     bool
	}{
		{"a program of a folder", []string{"/opt/agents/*"}, "/opt/agents/coder", true},
		{"a program of a folder below", []string{"/opt/agents/*"}, "/opt/agents/old/coder", false},
		{"a question mark is no slash", []string{"/opt?agents"}, "/opt/agents", false},
		{"a variable", []string{"WINDLASS_TOOL_*"}, "WINDLASS_TOOL_TOKEN", true},
		{"another variable", []string{"WINDLASS_TOOL_*"}, "HOME", false},
		{"one of several characters", []string{"KEY_[A-C]"}, "KEY_B", true},
		{"the second pattern", []string{"A", "B*"}, "BC", true},
		{"a pattern that cannot be read fits nothing", []string{"[a"}, "a", false},
		{"no patterns", nil, "", false},
	} {
		if got := AnyFile(row.patterns, row.file); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestCheckFile(t *testing.T) {
	if err := CheckFile([]string{"*", "[a-z]", `\*`, ""}); err != nil {
		t.Error(err)
	}
	if err := CheckFile([]string{"*", "[a"}); err == nil || err.Error() != `"[a": syntax error in pattern` {
		t.Error(err)
	}
}
