package sessions_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/limits"
)

func TestAgentRevisions(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("helper")
		update := func(a *sessionsv1.Agent, paths ...string) (*sessionsv1.Agent, error) {
			a.Id = "helper"
			req := &sessionsv1.UpdateAgentRequest{Agent: a}
			if len(paths) > 0 {
				req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
			}
			return k.agents.UpdateAgent(t.Context(), req)
		}
		a, err := update(&sessionsv1.Agent{Instructions: "be kind", Limits: &sessionsv1.Limits{MaxSteps: 5}})
		must(t, err)
		if a.GetRevision() != 2 || a.GetTools()[0] != "*" || a.GetDisplayName() != "helper" {
			t.Errorf("agent %v", a)
		}
		a, err = update(&sessionsv1.Agent{Instructions: "be kind"})
		must(t, err)
		if a.GetRevision() != 2 {
			t.Errorf("a change of nothing made revision %d", a.GetRevision())
		}
		a, err = update(&sessionsv1.Agent{Limits: &sessionsv1.Limits{MaxParallelTools: 2}}, "limits.max_parallel_tools", "tools", "id")
		must(t, err)
		if a.GetLimits().GetMaxSteps() != 5 || a.GetLimits().GetMaxParallelTools() != 2 || len(a.GetTools()) != 0 {
			t.Errorf("agent %v", a)
		}
		_, err = update(&sessionsv1.Agent{Revision: 1, Model: "a/b"})
		wantFault(t, err, "conflict")
		_, err = update(&sessionsv1.Agent{}, "limits.nope")
		wantFault(t, err, "invalid_argument", "update_mask")
		_, err = update(&sessionsv1.Agent{Limits: &sessionsv1.Limits{TurnSeconds: 86400, MaxIdenticalCalls: 100}})
		wantFault(t, err, "invalid_argument", "agent.limits.max_identical_calls")
		list, err := k.agents.ListAgentRevisions(t.Context(), &sessionsv1.ListAgentRevisionsRequest{AgentId: "helper", PageSize: 2})
		must(t, err)
		rest, err := k.agents.ListAgentRevisions(t.Context(),
			&sessionsv1.ListAgentRevisionsRequest{AgentId: "helper", PageToken: list.GetNextPageToken()})
		must(t, err)
		if len(list.GetRevisions()) != 2 || list.GetRevisions()[0].GetRevision() != 3 || len(rest.GetRevisions()) != 1 {
			t.Errorf("revisions %v then %v", list, rest)
		}
		old, err := k.agents.GetAgent(t.Context(), &sessionsv1.GetAgentRequest{AgentId: "helper", Revision: 1})
		must(t, err)
		if old.GetInstructions() != "" {
			t.Errorf("revision 1 is %v", old)
		}
		_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "helper"})
		must(t, err)
		_, err = k.agents.GetAgent(t.Context(), &sessionsv1.GetAgentRequest{AgentId: "helper"})
		wantFault(t, err, "not_found")
		k.agent("helper")
	})
}

const goodBundle = `
kind: source
name: calculator
url: http://127.0.0.1:9001/mcp
---
# an agent
kind: agent
id: support
instructions: |
  Be kind.
tools: ["calculator__*"]
strategy: react
limits:
  max_steps: 7
---
`

func (k *kit) apply(yaml string, dry bool) (string, error) {
	got, err := k.agents.ApplyBundle(k.t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: yaml, DryRun: dry})
	out := ""
	for _, a := range got.GetApplied() {
		out += fmt.Sprintf("%s %s %s %d|", a.GetKind(), a.GetId(), enum.Name(a.GetAction()), a.GetRevision())
	}
	return out, err
}

func TestApplyBundle(t *testing.T) {
	k := newKit(t, options{})
	for _, row := range []struct {
		name, yaml string
		dry        bool
		want       string
	}{
		{"dry run", goodBundle, true, "source calculator created 1|agent support created 1|"},
		{"first", goodBundle, false, "source calculator created 1|agent support created 1|"},
		{"again", goodBundle, false, "source calculator unchanged 1|agent support unchanged 1|"},
		{
			"changed", strings.NewReplacer("9001", "9002", "kind.", "kinder.").Replace(goodBundle), false,
			"source calculator updated 2|agent support updated 2|",
		},
	} {
		got, err := k.apply(row.yaml, row.dry)
		must(t, err)
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	a, err := k.agents.GetAgent(t.Context(), &sessionsv1.GetAgentRequest{AgentId: "support"})
	must(t, err)
	if a.GetInstructions() != "Be kinder.\n" || a.GetStrategy() != 1 || a.GetLimits().GetMaxSteps() != 7 {
		t.Errorf("agent %v", a)
	}
	if s := k.sources.byName["calculator"]; s.GetKind() != "mcp" || !strings.HasSuffix(s.GetUrl(), "9002/mcp") {
		t.Errorf("source %v", s)
	}
}

func TestABundleWithAMistakeAppliesNothing(t *testing.T) {
	k := newKit(t, options{})
	bad := goodBundle + "kind: agent\nid: other\nlimits:\n  max_steps: 5000\nmodel: gpt\n"
	_, err := k.apply(bad, false)
	wantFault(t, err, "invalid_argument", "document 3 (agent other), line 19: limits.max_steps",
		"document 3 (agent other), line 19: limits.max_steps", "document 3 (agent other), line 20: model")
	list, err := k.agents.ListAgents(t.Context(), &sessionsv1.ListAgentsRequest{})
	must(t, err)
	if len(list.GetAgents()) != 0 || len(k.sources.byName) != 0 {
		t.Errorf("applied %v and %v", list, k.sources.byName)
	}
}

func TestABundleWithASourceThatTheRegistryRefusesAppliesNothing(t *testing.T) {
	k := newKit(t, options{})
	for _, dry := range []bool{true, false} {
		_, err := k.apply(goodBundle+"kind: source\nname: lost\n", dry)
		wantFault(t, err, "invalid_argument", "document 3 (source lost), line 16: url")
		_, err = k.apply("kind: source\nname: lost\nsource_kind: fax\n", dry)
		wantFault(t, err, "invalid_argument", "document 1 (source lost), line 3: source_kind")
	}
	list, err := k.agents.ListAgents(t.Context(), &sessionsv1.ListAgentsRequest{})
	must(t, err)
	if len(list.GetAgents()) != 0 || len(k.sources.byName) != 0 {
		t.Errorf("applied %v and %v", list, k.sources.byName)
	}
}

func TestApplyBundleWarns(t *testing.T) {
	k := newKit(t, options{})
	k.sources.byName["calculator"] = &registryv1.Source{
		Name: "calculator", Kind: "mcp", State: registryv1.SourceState_SOURCE_STATE_UNREACHABLE, LastError: "refused",
		Revision: 4,
	}
	got, err := k.agents.ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: "kind: source\nname: calculator"})
	must(t, err)
	if a := got.GetApplied()[0]; enum.Name(a.GetAction()) != "unchanged" || !strings.Contains(a.GetWarning(), "refused") {
		t.Errorf("applied %v", a)
	}
	_, err = k.apply("kind: [", false)
	if fault.CodeOf(err) != "malformed_body" {
		t.Errorf("broken YAML: %v", err)
	}
}

func TestPatternsThatNoToolFitsAreRefused(t *testing.T) {
	k := newKit(t, options{})
	for _, pattern := range []string{"notes__[cd]*", "notes__{create,delete}", "!notes__delete"} {
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
			Id:    "helper",
			Tools: []string{"calc__*", pattern},
		}})
		wantFault(t, err, "invalid_argument", "agent.tools[1]")
	}
}

func TestARouteNeedsAgents(t *testing.T) {
	k := newKit(t, options{})
	desk := &sessionsv1.Agent{Id: "desk", Strategy: turnv1.Strategy_STRATEGY_ROUTE}
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: desk})
	wantFault(t, err, "invalid_argument", "agent.agents")
	desk.Agents = []string{"spec*"}
	_, err = k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: desk})
	must(t, err)
}

func TestALimitThatIsTooHighIsToldTheMost(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxLimits: limits.Limits{MaxSteps: 40, MaxCost: 2_500_000}}})
	for want, limits := range map[string]*sessionsv1.Limits{"which is 40 ": {MaxSteps: 41}, "which is 2.5 ": {MaxCost: "2.500001"}} {
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "helper", Limits: limits}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An agent that others name is deleted only by force. What is left of it is a tool that is not there any more, no turn that fails.
func TestDeletingASubAgent(t *testing.T) {
	k := newKit(t, options{})
	k.agent("helper")
	for id, agents := range map[string][]string{"boss": {"helper"}, "pattern": {"help*"}} {
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: id, Agents: agents}})
		must(t, err)
	}
	_, err := k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "helper"})
	wantFault(t, err, "failed_precondition")
	if text := err.Error(); !strings.Contains(text, "boss") || strings.Contains(text, "pattern") {
		t.Errorf("error %q", text)
	}
	_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "helper", Force: true})
	must(t, err)
	ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "boss"})
	must(t, err)
	loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: k.turn(ses.GetId(), "hello").GetId()})
	must(t, err)
	if len(loaded.GetAgentTools()) != 0 {
		t.Errorf("sub-agents %v", loaded.GetAgentTools())
	}
}
