package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// manifest has a document of each kind, with fields of every type.
const manifest = `kind: source
name: round
command: [calculator]
env: {LOG_LEVEL: info}
call_timeout_seconds: 90
effects: {evaluate: read, convert: once}
labels: {team: sums}
---
kind: source
name: inline
source_kind: openapi
base_url: http://127.0.0.1:1/api
document: |
  openapi: 3.1.0
  info: {title: t, version: "1"}
  paths: {/x: {get: {operationId: x, tags: [a]}}}
max_calls: 3
max_calls_per_second: 0.5
exclude: [y]
---
kind: group
name: round
description: Harmless sums
selectors:
- {source: round, effects: [read], labels: {team: sums}}
- {source: "round*", tags: [public]}
tools: [round__convert]
exclude: ["*__health_check"]
---
kind: policy
name: round
description: Sums for finance
priority: -2
effect: deny
matchers:
- {path: department, operator: not_equals, values: [finance, "7"]}
- {path: $roles, operator: contains, values: [clerk]}
- {path: 'https://example\.com/team', operator: matches, values: ["core|x"]}
expression: principal.claims.level >= 3
tool_groups: [round]
tools: ["round__*"]
permissions: [sessions.turns.create]
---
kind: route
name: round
description: For long conversations
priority: 4
disabled: true
when: size > 100000 && "clerk" in principal.roles
targets: [{model: builtin/scripted, weight: 3}]
switch_on_filter: true
---
kind: agent
id: round
instructions: |
  Be brief.
  Say so.
strategy: react
tools: ["round__*", "group:round"]
limits: {max_steps: 7, max_cost: "0.25"}
temperature: 0.5
labels: {team: orders}
on_unknown_outcome: park
params_schema: {type: object, properties: {order: {type: string}}}
instruction_rules:
- roles: [manager]
  instructions: You may speak about prices.
approvals:
- {name: convert, tools: ["round__convert"], quorum: 2, approver_roles: [lead]}
---
kind: schedule
id: round
agent_id: round
input: "say:good morning"
params: {order: "7"}
cron: 30 9 * * 1-5
time_zone: Europe/Berlin
---
kind: webhook
id: round
url: http://127.0.0.1:1/hook
events: [turn.failed, approval.requested]
agent_id: round
`

// TestWhatIsReadCanBeApplied: "get -o yaml | apply -f -" changes nothing, for every kind, and makes the same where it was deleted.
func TestWhatIsReadCanBeApplied(t *testing.T) {
	t.Parallel()
	server := harness.Up(t, t.TempDir(), nil).Client.Base // a list holds nothing that another test deletes
	windlass := func(stdin string, args ...string) string {
		out, _ := run(t, 0, stdin, harness.Bin(t, "windlass"), append(args, "--server", server)...)
		return out
	}
	windlass(manifest, "apply", "-")
	var all strings.Builder
	kinds := []string{"source", "group", "policy", "route", "agent", "schedule", "webhook"}
	for _, kind := range kinds {
		got := windlass("", kind, "get", "round", "-o", "yaml")
		all.WriteString("---\n" + got)
		if !strings.HasPrefix(got, "kind: "+kind+"\n") {
			t.Errorf("%s: begins with %.40q", kind, got)
		}
		if again := windlass(got, "apply", "-f", "-"); again != kind+"/round unchanged\n" {
			t.Errorf("applied again: %s", again)
		}
		again := windlass(windlass("", kind, "list", "-o", "yaml"), "apply", "--dry-run", "-")
		if !strings.Contains(again, kind+"/round unchanged") || strings.Contains(again, " updated") || strings.Contains(again, " created") {
			t.Errorf("the list applied: %s", again)
		}
	}
	for _, kind := range slices.Backward(kinds) {
		windlass("", kind, "delete", "round")
	}
	if got := windlass(all.String(), "apply", "-"); strings.Count(got, " created\n") != len(kinds) {
		t.Errorf("applied after it was deleted: %s", got)
	}
}
