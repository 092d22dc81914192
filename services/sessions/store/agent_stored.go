package store

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
)

// marshal gives what is stored of a revision beside its columns.
func (a Agent) marshal() ([]byte, error) {
	m := a.Spec.stored()
	m.CreateTime, m.UpdateTime = timestamppb.New(a.CreateTime), timestamppb.New(a.UpdateTime)
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	return data, nil
}

// unmarshal reads what is stored of a revision beside its columns.
func (a *Agent) unmarshal(data []byte) error {
	m := &storev1.StoredAgent{}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("agent %s: %w", a.ID, err)
	}
	a.Spec, a.CreateTime, a.UpdateTime = agentSpec(m), timeOf(m.GetCreateTime()), timeOf(m.GetUpdateTime())
	return nil
}

// timeOf converts a stored time, the zero time for none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func (a AgentSpec) stored() *storev1.StoredAgent {
	m := &storev1.StoredAgent{
		DisplayName: a.DisplayName, Description: a.Description, Instructions: a.Instructions, Model: a.Model, Strategy: a.Strategy, Tools: a.Tools,
		Limits: a.Limits.stored(), Temperature: a.Temperature, MaxOutputTokens: a.MaxOutputTokens, OnUnknownOutcome: string(a.OnUnknownOutcome),
		Labels: a.Labels, Approvals: a.Approvals, ParamsSchema: a.ParamsSchema, Shields: a.Shields, Executor: a.Executor.stored(), Agents: a.Agents,
		MaxContextTokens: a.MaxContextTokens,
	}
	for _, r := range a.InstructionRules {
		m.InstructionRules = append(m.InstructionRules, &storev1.StoredInstructionRule{
			Roles: r.Roles, Claim: r.Claim, Values: r.Values, Instructions: r.Instructions, Mode: string(r.Mode),
		})
	}
	return m
}

func agentSpec(m *storev1.StoredAgent) AgentSpec {
	a := AgentSpec{
		DisplayName: m.GetDisplayName(), Description: m.GetDescription(), Instructions: m.GetInstructions(), Model: m.GetModel(),
		Strategy: m.GetStrategy(), Tools: m.GetTools(), Limits: limitsSpec(m.GetLimits()), Temperature: m.Temperature,
		MaxOutputTokens: m.GetMaxOutputTokens(), OnUnknownOutcome: UnknownOutcome(m.GetOnUnknownOutcome()), Labels: m.GetLabels(),
		Approvals: m.GetApprovals(), ParamsSchema: m.GetParamsSchema(), Shields: m.GetShields(), Executor: executorSpec(m.GetExecutor()),
		Agents: m.GetAgents(), MaxContextTokens: m.GetMaxContextTokens(),
	}
	for _, r := range m.GetInstructionRules() {
		a.InstructionRules = append(a.InstructionRules, InstructionRule{
			Roles: r.GetRoles(), Claim: r.GetClaim(), Values: r.GetValues(), Instructions: r.GetInstructions(), Mode: RuleMode(r.GetMode()),
		})
	}
	return a
}

func (l *LimitsSpec) stored() *storev1.StoredLimits {
	if l == nil {
		return nil
	}
	return &storev1.StoredLimits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxParallelTools: l.MaxParallelTools, MaxIdenticalCalls: l.MaxIdenticalCalls,
		TurnSeconds: l.TurnSeconds, MaxToolCalls: l.MaxToolCalls, MaxCost: l.MaxCost, MaxChildren: l.MaxChildren, MaxDepth: l.MaxDepth,
	}
}

func limitsSpec(m *storev1.StoredLimits) *LimitsSpec {
	if m == nil {
		return nil
	}
	return &LimitsSpec{
		MaxSteps: m.GetMaxSteps(), MaxTokens: m.GetMaxTokens(), MaxParallelTools: m.GetMaxParallelTools(), MaxIdenticalCalls: m.GetMaxIdenticalCalls(),
		TurnSeconds: m.GetTurnSeconds(), MaxToolCalls: m.GetMaxToolCalls(), MaxCost: m.GetMaxCost(), MaxChildren: m.GetMaxChildren(),
		MaxDepth: m.GetMaxDepth(),
	}
}

func (x *ExecutorSpec) stored() *storev1.StoredExecutor {
	if x == nil {
		return nil
	}
	return &storev1.StoredExecutor{
		Kind: x.Kind, Command: x.Command, Env: x.Env, Dir: x.Dir, Url: x.URL, Headers: x.Headers, TimeoutSeconds: x.TimeoutSeconds,
	}
}

func executorSpec(m *storev1.StoredExecutor) *ExecutorSpec {
	if m == nil {
		return nil
	}
	return &ExecutorSpec{
		Kind: m.GetKind(), Command: m.GetCommand(), Env: m.GetEnv(), Dir: m.GetDir(), URL: m.GetUrl(), Headers: m.GetHeaders(),
		TimeoutSeconds: m.GetTimeoutSeconds(),
	}
}
