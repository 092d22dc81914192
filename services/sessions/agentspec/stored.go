package agentspec

import (
	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
)

// Stored returns a blueprint as it is stored.
func (a Spec) Stored() *storev1.StoredAgent {
	m := &storev1.StoredAgent{
		DisplayName: a.DisplayName, Description: a.Description, Instructions: a.Instructions, Model: a.Model, Strategy: a.Strategy,
		Tools:  a.Tools,
		Limits: a.Limits.Stored(), Temperature: a.Temperature, MaxOutputTokens: a.MaxOutputTokens, OnUnknownOutcome: string(a.OnUnknownOutcome),
		Labels: a.Labels, Approvals: a.Approvals, ParamsSchema: a.ParamsSchema, Shields: a.Shields, Executor: a.Executor.stored(),
		Agents:           a.Agents,
		MaxContextTokens: a.MaxContextTokens, Generation: a.Generation, OutputSchema: a.OutputSchema, Degrade: a.Degrade,
		Fallbacks: a.Fallbacks, Banks: a.Banks, Augment: a.Augment, Memory: a.Memory,
	}
	for _, r := range a.InstructionRules {
		m.InstructionRules = append(m.InstructionRules, &storev1.StoredInstructionRule{
			Roles: r.Roles, Claim: r.Claim, Values: r.Values, Instructions: r.Instructions, Mode: string(r.Mode),
		})
	}
	return m
}

// Of reads a stored blueprint.
func Of(m *storev1.StoredAgent) Spec {
	a := Spec{
		DisplayName: m.GetDisplayName(), Description: m.GetDescription(), Instructions: m.GetInstructions(), Model: m.GetModel(),
		Strategy: m.GetStrategy(), Tools: m.GetTools(), Limits: LimitsOf(m.GetLimits()), Temperature: m.Temperature,
		MaxOutputTokens: m.GetMaxOutputTokens(), OnUnknownOutcome: UnknownOutcome(m.GetOnUnknownOutcome()), Labels: m.GetLabels(),
		Approvals: m.GetApprovals(), ParamsSchema: m.GetParamsSchema(), Shields: m.GetShields(), Executor: executorOf(m.GetExecutor()),
		Agents: m.GetAgents(), MaxContextTokens: m.GetMaxContextTokens(), Generation: m.GetGeneration(), OutputSchema: m.GetOutputSchema(),
		Degrade: m.GetDegrade(), Fallbacks: m.GetFallbacks(), Banks: m.GetBanks(), Augment: m.GetAugment(),
		Memory: m.GetMemory(),
	}
	for _, r := range m.GetInstructionRules() {
		a.InstructionRules = append(a.InstructionRules, InstructionRule{
			Roles: r.GetRoles(), Claim: r.GetClaim(), Values: r.GetValues(), Instructions: r.GetInstructions(), Mode: RuleMode(r.GetMode()),
		})
	}
	return a
}

// Stored returns limits as they are stored, nil for nil.
func (l *Limits) Stored() *storev1.StoredLimits {
	if l == nil {
		return nil
	}
	return &storev1.StoredLimits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxParallelTools: l.MaxParallelTools, MaxIdenticalCalls: l.MaxIdenticalCalls,
		TurnSeconds: l.TurnSeconds, MaxToolCalls: l.MaxToolCalls, MaxCost: l.MaxCost, MaxChildren: l.MaxChildren, MaxDepth: l.MaxDepth,
	}
}

// LimitsOf reads stored limits, nil for nil.
func LimitsOf(m *storev1.StoredLimits) *Limits {
	if m == nil {
		return nil
	}
	return &Limits{
		MaxSteps: m.GetMaxSteps(), MaxTokens: m.GetMaxTokens(), MaxParallelTools: m.GetMaxParallelTools(),
		MaxIdenticalCalls: m.GetMaxIdenticalCalls(),
		TurnSeconds:       m.GetTurnSeconds(), MaxToolCalls: m.GetMaxToolCalls(), MaxCost: m.GetMaxCost(), MaxChildren: m.GetMaxChildren(),
		MaxDepth: m.GetMaxDepth(),
	}
}

func (x *Executor) stored() *storev1.StoredExecutor {
	if x == nil {
		return nil
	}
	return &storev1.StoredExecutor{
		Kind: x.Kind, Command: x.Command, Env: x.Env, Dir: x.Dir, Url: x.URL, Headers: x.Headers, TimeoutSeconds: x.TimeoutSeconds,
	}
}

func executorOf(m *storev1.StoredExecutor) *Executor {
	if m == nil {
		return nil
	}
	return &Executor{
		Kind: m.GetKind(), Command: m.GetCommand(), Env: m.GetEnv(), Dir: m.GetDir(), URL: m.GetUrl(), Headers: m.GetHeaders(),
		TimeoutSeconds: m.GetTimeoutSeconds(),
	}
}
