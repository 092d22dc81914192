package rpc

import (
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestViolationsAreBounded: the number of reported violations does not grow with the message, and a small message gets all of them.
func TestViolationsAreBounded(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	rule := &policyv1.ApprovalRule{Tools: slices.Repeat([]string{""}, 256)}
	for _, row := range []struct {
		name  string
		agent *sessionsv1.Agent
		want  int
		first string
	}{
		{"two mistakes", &sessionsv1.Agent{Id: "A", Tools: []string{"", "x"}}, 2, "id"},
		{"500,000 items", &sessionsv1.Agent{Id: "a", Tools: slices.Repeat([]string{""}, 500_000)}, 1, "tools"},
		{"500,000 equal items", &sessionsv1.Agent{Id: "a", Shields: slices.Repeat([]string{"x"}, 500_000)}, 1, "shields"},
		{"lists of lists", &sessionsv1.Agent{Id: "a", Approvals: slices.Repeat([]*policyv1.ApprovalRule{rule}, 64)}, 1, "approvals[0].name"},
		{"more mistakes than are told", &sessionsv1.Agent{Id: "a", Tools: slices.Repeat([]string{""}, 256)}, maxViolations, "tools[0]"},
		{"nothing wrong", &sessionsv1.Agent{Id: "a"}, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			bad, err := Violations(v, row.agent)
			if err != nil || len(bad) != row.want {
				t.Fatalf("%d violations, %v, want %d", len(bad), err, row.want)
			}
			if row.want > 0 && !strings.HasPrefix(protovalidate.FieldPathString(bad[0].Proto.GetField()), row.first) {
				t.Errorf("the first is %v, want %s", bad[0].Proto, row.first)
			}
		})
	}
}
