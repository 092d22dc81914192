package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// fullBlueprint has all fields set, though no agent has all of them.
func fullBlueprint(t *testing.T) agentspec.Spec {
	t.Helper()
	schema, err := structpb.NewStruct(map[string]any{"type": "object"})
	must(t, err)
	temperature := 0.0
	return agentspec.Spec{
		DisplayName: "A", Description: "first", Instructions: "be kind", Model: "p/m", Strategy: turnv1.Strategy_STRATEGY_PLAN,
		Tools: []string{"a__*"},
		Limits: &agentspec.Limits{
			MaxSteps: 1, MaxTokens: 2, MaxParallelTools: 3, MaxIdenticalCalls: 4, TurnSeconds: 5, MaxToolCalls: 6, MaxCost: "0.70", MaxChildren: 8,
			MaxDepth: 9,
		},
		Temperature: &temperature, MaxOutputTokens: 10, OnUnknownOutcome: agentspec.OutcomePark, Labels: map[string]string{"team": "red"},
		Approvals: []*policyv1.ApprovalRule{{Name: "rule", Quorum: 2}}, ParamsSchema: schema,
		InstructionRules: []agentspec.InstructionRule{{
			Roles: []string{"admin"}, Claim: "org.plan", Values: []string{"pro"}, Instructions: "more", Mode: agentspec.ModeReplace,
		}},
		Shields: []string{"pii"},
		Executor: &agentspec.Executor{
			Kind: "process", Command: []string{"agent"}, Env: map[string]string{"A": "b"}, Dir: "/d", URL: "http://x/",
			Headers:        map[string]string{"H": "v"},
			TimeoutSeconds: 30,
		},
		Agents: []string{"helper"}, MaxContextTokens: 4000, Fallbacks: []string{"b/c"},
		Generation: &turnv1.Generation{ToolChoice: "none", Stop: []string{"END"}}, OutputSchema: schema, Degrade: agentspec.DegradeFail,
		Memory: "write",
		Banks:  []string{"handbook"}, Augment: &turnv1.Augment{MaxTokens: 900},
	}
}

func blueprints(t *testing.T, s *store.Store) {
	want := store.Agent{Tenant: tenant, ID: "a", Revision: 1, Spec: fullBlueprint(t), CreateTime: at(5), UpdateTime: at(6)}
	for _, v := range []any{want.Spec, *want.Spec.Limits, *want.Spec.Executor, want.Spec.InstructionRules[0]} {
		for i := range reflect.TypeOf(v).NumField() {
			if reflect.ValueOf(v).Field(i).IsZero() {
				t.Errorf("%T.%s is not set: nobody would see that it gets lost", v, reflect.TypeOf(v).Field(i).Name)
			}
		}
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutAgent(ctx, want) })
	check := func(got store.Agent, err error) {
		t.Helper()
		must(t, err)
		if !got.Spec.Equal(want.Spec) || !got.CreateTime.Equal(want.CreateTime) || !got.UpdateTime.Equal(want.UpdateTime) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	check(s.Agent(t.Context(), tenant, "a"))
	check(s.AgentRevision(t.Context(), tenant, "a", 1))
	if got, err := s.Agent(t.Context(), tenant, "a"); err != nil || !reflect.DeepEqual(got.Spec.Executor, want.Spec.Executor) ||
		!reflect.DeepEqual(got.Spec.Limits, want.Spec.Limits) || !reflect.DeepEqual(got.Spec.InstructionRules, want.Spec.InstructionRules) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func revisions(t *testing.T, s *store.Store) {
	put := func(revision uint32) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutAgent(ctx, store.Agent{
				Tenant: tenant, ID: "a", Revision: revision,
				Spec: agentspec.Spec{Model: fmt.Sprintf("p/%d", revision)},
			})
		})
	}
	put(1)
	put(2)
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAgent(ctx, tenant, "a") })
	err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.DeleteAgent(t.Context(), tenant, "a") })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
	if a, err := s.Agent(t.Context(), tenant, "a"); err != nil || !a.Deleted || a.Revision != 2 {
		t.Errorf("deleted agent %+v, %v", a, err)
	}
	if list, err := s.Agents(t.Context(), tenant, "", 9); err != nil || len(list) != 0 {
		t.Errorf("agents %v, %v", list, err)
	}
	put(3)
	a, err := s.AgentRevision(t.Context(), tenant, "a", 1)
	must(t, err)
	if a.Spec.Model != "p/1" {
		t.Errorf("revision 1 is %+v", a)
	}
	rows, err := s.AgentRevisions(t.Context(), tenant, "a", 3, 9)
	must(t, err)
	if len(rows) != 2 || rows[0].Revision != 2 {
		t.Errorf("revisions below 3: %v", rows)
	}
}
