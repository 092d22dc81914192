package sessions_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/sqldb"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// earlierAgent has all fields set, though no agent has all of them.
const earlierAgent = `{
	"id": "old", "displayName": "Old", "description": "first", "instructions": "be kind", "model": "p/m", "strategy": "STRATEGY_PLAN", "tools": ["a__*"],
	"limits": {"maxSteps": 1, "maxTokens": 2, "maxParallelTools": 3, "maxIdenticalCalls": 4, "turnSeconds": 5, "maxToolCalls": 6, "maxCost": "0.70",
		"maxChildren": 8, "maxDepth": 9},
	"temperature": 0, "maxOutputTokens": 10, "onUnknownOutcome": "park", "labels": {"team": "red"}, "revision": 1,
	"createTime": "2026-01-02T03:04:05Z", "updateTime": "2026-01-02T03:04:06Z", "approvals": [{"name": "rule", "quorum": 2}],
	"paramsSchema": {"type": "object"}, "shields": ["pii"], "agents": ["helper"], "maxContextTokens": 4000, "degrade": "fail", "banks": ["handbook"],
	"augment": {"maxTokens": 900},
	"memory": "read",
	"fallbacks": ["b/c"], "generation": {"toolChoice": "none", "stop": ["END"]}, "outputSchema": {"type": "object"},
	"instructionRules": [{"roles": ["admin"], "claim": "org.plan", "values": ["pro"], "instructions": "more", "mode": "replace"}],
	"executor": {"kind": "process", "command": ["agent"], "env": {"A": "b"}, "dir": "/d", "url": "http://x/", "headers": {"H": "v"}, "timeoutSeconds": 30}
}`

// Agents were once stored as API messages.
func TestAgentsOfEarlierVersionsStayReadable(t *testing.T) {
	want := &sessionsv1.Agent{}
	must(t, protojson.Unmarshal([]byte(earlierAgent), want))
	for _, m := range []proto.Message{want, want.GetLimits(), want.GetExecutor(), want.GetInstructionRules()[0]} {
		allSet(t, m.ProtoReflect())
	}
	back := convert.AgentToProto(store.Agent{
		ID: "old", Revision: 1, CreateTime: want.GetCreateTime().AsTime(), UpdateTime: want.GetUpdateTime().AsTime(),
		Spec: convert.AgentFromProto(want),
	})
	if !proto.Equal(back, want) {
		t.Errorf("converted forth and back it is %v\nwant %v", back, want)
	}
	data, err := proto.Marshal(want)
	must(t, err)
	k := newKit(t, options{})
	must(t, k.db.Write(t.Context(), func(tx sqldb.Tx) error {
		if _, err := sqldb.Exec(t.Context(), tx, "INSERT INTO agents (tenant, id, revision, deleted, data) VALUES ('default', 'old', 1, 0, $1)",
			data); err != nil {
			return err
		}
		_, err := sqldb.Exec(t.Context(), tx, "INSERT INTO agent_revisions (tenant, id, revision, data) VALUES ('default', 'old', 1, $1)", data)
		return err
	}))
	got, err := k.agents.GetAgent(t.Context(), &sessionsv1.GetAgentRequest{AgentId: "old"})
	must(t, err)
	list, err := k.agents.ListAgentRevisions(t.Context(), &sessionsv1.ListAgentRevisionsRequest{AgentId: "old"})
	must(t, err)
	if !proto.Equal(got, want) || len(list.GetRevisions()) != 1 || !proto.Equal(list.GetRevisions()[0], want) {
		t.Errorf("got %v and %v\nwant %v", got, list, want)
	}
}

// allSet fails if a field is not set: nobody would see that it gets lost.
func allSet(t *testing.T, m protoreflect.Message) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if !m.Has(fields.Get(i)) {
			t.Errorf("%s is not set", fields.Get(i).FullName())
		}
	}
}

// TestOnlyAgentsThatCallToolsHaveBanks: nothing would search them.
func TestOnlyAgentsThatCallToolsHaveBanks(t *testing.T) {
	k := newKit(t, options{})
	agent := &sessionsv1.Agent{Id: "desk", Banks: []string{"handbook"}, Strategy: turnv1.Strategy_STRATEGY_DIRECT}
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: agent})
	wantFault(t, err, "invalid_argument", "agent.banks")
	agent.Strategy = turnv1.Strategy_STRATEGY_UNSPECIFIED
	made, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: agent})
	must(t, err)
	if len(made.GetBanks()) != 1 || made.GetBanks()[0] != "handbook" {
		t.Errorf("created %v", made)
	}
}
