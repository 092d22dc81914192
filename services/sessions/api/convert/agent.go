// Package convert converts between the API's messages and the types of the sessions service.
package convert

import (
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// AgentToProto converts an agent as it was written: an empty display name stays empty.
func AgentToProto(a store.Agent) *sessionsv1.Agent {
	v := a.Spec
	out := &sessionsv1.Agent{
		Id: a.ID, DisplayName: v.DisplayName, Description: v.Description, Instructions: v.Instructions, Model: v.Model, Strategy: v.Strategy,
		Tools: v.Tools, Limits: LimitsToProto(v.Limits), Temperature: v.Temperature, MaxOutputTokens: v.MaxOutputTokens,
		OnUnknownOutcome: string(v.OnUnknownOutcome), Labels: v.Labels, Revision: a.Revision, CreateTime: timestamp.Of(a.CreateTime),
		UpdateTime: timestamp.Of(a.UpdateTime), Approvals: v.Approvals, ParamsSchema: v.ParamsSchema, Shields: v.Shields,
		Executor: executorToProto(v.Executor), Agents: v.Agents, MaxContextTokens: v.MaxContextTokens,
		Generation: v.Generation, OutputSchema: v.OutputSchema, Degrade: v.Degrade, Fallbacks: v.Fallbacks,
		Banks: v.Banks, Augment: v.Augment, Memory: v.Memory,
	}
	for _, r := range v.InstructionRules {
		out.InstructionRules = append(out.InstructionRules, &sessionsv1.InstructionRule{
			Roles: r.Roles, Claim: r.Claim, Values: r.Values, Instructions: r.Instructions, Mode: string(r.Mode),
		})
	}
	return out
}

// AgentFromProto converts the fields that an author sets.
func AgentFromProto(v *sessionsv1.Agent) agentspec.Spec {
	out := agentspec.Spec{
		DisplayName: displayName(v), Description: v.GetDescription(), Instructions: v.GetInstructions(), Model: v.GetModel(),
		Strategy: v.GetStrategy(), Tools: v.GetTools(), Limits: LimitsFromProto(v.GetLimits()), Temperature: v.Temperature,
		MaxOutputTokens: v.GetMaxOutputTokens(), OnUnknownOutcome: agentspec.UnknownOutcome(v.GetOnUnknownOutcome()), Labels: v.GetLabels(),
		Approvals: v.GetApprovals(), ParamsSchema: v.GetParamsSchema(), Shields: v.GetShields(), Executor: executorFromProto(v.GetExecutor()),
		Agents: v.GetAgents(), MaxContextTokens: v.GetMaxContextTokens(),
		Generation: v.GetGeneration(), OutputSchema: v.GetOutputSchema(), Degrade: v.GetDegrade(), Fallbacks: v.GetFallbacks(),
		Banks: v.GetBanks(), Augment: v.GetAugment(), Memory: v.GetMemory(),
	}
	for _, r := range v.GetInstructionRules() {
		out.InstructionRules = append(out.InstructionRules, agentspec.InstructionRule{
			Roles: r.GetRoles(), Claim: r.GetClaim(), Values: r.GetValues(), Instructions: r.GetInstructions(),
			Mode: agentspec.RuleMode(r.GetMode()),
		})
	}
	return out
}

// displayName is the display name that an author sets: one that is the id is what is shown without any.
func displayName(v interface {
	GetId() string
	GetDisplayName() string
},
) string {
	if v.GetDisplayName() == v.GetId() {
		return ""
	}
	return v.GetDisplayName()
}

// LimitsToProto converts limits, nil for none.
func LimitsToProto(l *agentspec.Limits) *sessionsv1.Limits {
	if l == nil {
		return nil
	}
	return &sessionsv1.Limits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxParallelTools: l.MaxParallelTools, MaxIdenticalCalls: l.MaxIdenticalCalls,
		TurnSeconds: l.TurnSeconds, MaxToolCalls: l.MaxToolCalls, MaxCost: l.MaxCost, MaxChildren: l.MaxChildren, MaxDepth: l.MaxDepth,
	}
}

// LimitsFromProto converts limits, nil for none.
func LimitsFromProto(l *sessionsv1.Limits) *agentspec.Limits {
	if l == nil {
		return nil
	}
	return &agentspec.Limits{
		MaxSteps: l.GetMaxSteps(), MaxTokens: l.GetMaxTokens(), MaxParallelTools: l.GetMaxParallelTools(),
		MaxIdenticalCalls: l.GetMaxIdenticalCalls(),
		TurnSeconds:       l.GetTurnSeconds(), MaxToolCalls: l.GetMaxToolCalls(), MaxCost: l.GetMaxCost(), MaxChildren: l.GetMaxChildren(),
		MaxDepth: l.GetMaxDepth(),
	}
}

func executorToProto(x *agentspec.Executor) *sessionsv1.Executor {
	if x == nil {
		return nil
	}
	return &sessionsv1.Executor{
		Kind: x.Kind, Command: x.Command, Env: x.Env, Dir: x.Dir, Url: x.URL, Headers: x.Headers, TimeoutSeconds: x.TimeoutSeconds,
	}
}

func executorFromProto(x *sessionsv1.Executor) *agentspec.Executor {
	if x == nil {
		return nil
	}
	return &agentspec.Executor{
		Kind: x.GetKind(), Command: x.GetCommand(), Env: x.GetEnv(), Dir: x.GetDir(), URL: x.GetUrl(), Headers: x.GetHeaders(),
		TimeoutSeconds: x.GetTimeoutSeconds(),
	}
}
