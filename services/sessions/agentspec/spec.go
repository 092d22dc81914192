// Package agentspec is the blueprint of an agent: what its author sets.
package agentspec

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// UnknownOutcome says what a turn does about a call whose outcome is unknown.
type UnknownOutcome string

// What a turn does about it. The empty one is OutcomeReport.
const (
	// OutcomeReport gives the model the outcome, and the turn continues.
	OutcomeReport UnknownOutcome = "report"
	// OutcomePark waits until a person resolves the call.
	OutcomePark UnknownOutcome = "park"
)

// DegradeFail fails turns with a file of the user that the model does not take.
const DegradeFail = "fail"

// Spec is the blueprint of an agent: what its author sets.
type Spec struct {
	// DisplayName and Description are for people, the description also for models that may call the agent.
	DisplayName, Description string
	// Instructions and Model ("provider/model", "" = the default) may have placeholders.
	Instructions, Model string
	Strategy            turnv1.Strategy
	// Tools are globs over names of tools, and "group:NAME".
	Tools []string
	// Limits bound its turns, nil for the defaults.
	Limits *Limits
	// Temperature is nil for the provider's; MaxOutputTokens is 0 for the provider's.
	Temperature      *float64
	MaxOutputTokens  int32
	OnUnknownOutcome UnknownOutcome
	Labels           map[string]string
	// Approvals are policy's rules: the first that fits a call asks for an approval.
	Approvals []*policyv1.ApprovalRule
	// ParamsSchema is the JSON Schema of the params of its sessions, nil for none.
	ParamsSchema *structpb.Struct
	// InstructionRules give other instructions to some users, in order.
	InstructionRules []InstructionRule
	// Shields are names of shields.
	Shields []string
	// Executor thinks in the place of a model, nil for none.
	Executor *Executor
	// Agents are those that it may call: ids, or globs over ids.
	Agents []string
	// Degrade says what to do about files that the model does not take: DegradeFail, or else a note in their place.
	Degrade string
	// Memory says what its turns do with the memory of users: "read", "write", or else nothing.
	Memory string
	// MaxContextTokens bounds what a turn uses of the model's window, 0 for all of it.
	MaxContextTokens int32
	// Fallbacks are models that are called when the first one fails, in order.
	Fallbacks []string
	// Generation says how the model writes its answers, nil leaves it to the provider.
	Generation *turnv1.Generation
	// OutputSchema is the JSON Schema of the answers of its turns, nil for text.
	OutputSchema *structpb.Struct
	// Banks are ids of the banks of documents that it answers from.
	Banks []string
	// Augment says what of them enters prompts before the model is asked; nil = nothing.
	Augment *turnv1.Augment
}

// Limits are limits of a turn, 0 for the default.
type Limits struct {
	MaxSteps                            uint32
	MaxTokens                           int32
	MaxParallelTools, MaxIdenticalCalls uint32
	TurnSeconds, MaxToolCalls           uint32
	// MaxCost is a decimal number as it was written.
	MaxCost string
	// MaxChildren and MaxDepth bound turns of sub-agents.
	MaxChildren, MaxDepth uint32
}

// RuleMode says where the instructions of a rule go.
type RuleMode string

// Where the instructions go. The empty one is ModeAppend.
const (
	// ModeAppend adds them behind those of the agent.
	ModeAppend RuleMode = "append"
	// ModeReplace puts them in the place of those of the agent.
	ModeReplace RuleMode = "replace"
)

// InstructionRule gives other instructions to users of some roles, or with a claim. Both conditions must hold; an empty one is none.
type InstructionRule struct {
	// Roles are globs over the user's roles.
	Roles []string
	// Claim is the path of a claim, Values are globs over its value.
	Claim        string
	Values       []string
	Instructions string
	Mode         RuleMode
}

// Executor is an agent written with another framework. Its texts may have placeholders.
type Executor struct {
	// Kind is "builtin", or a kind of contract; "" is builtin.
	Kind string
	// Command, Env and Dir are of a process.
	Command []string
	Env     map[string]string
	Dir     string
	// URL and Headers are of http and grpc.
	URL            string
	Headers        map[string]string
	TimeoutSeconds uint32
}

// Hosted reports whether an executor thinks in the place of the agent's model.
func (a Spec) Hosted() bool {
	if a.Executor == nil {
		return false
	}
	switch a.Executor.Kind {
	case contract.ExecutorProcess, contract.ExecutorHTTP, contract.ExecutorGRPC:
		return true
	}
	return false
}

// Equal reports whether two blueprints agree in all fields.
func (a Spec) Equal(b Spec) bool { return proto.Equal(a.Stored(), b.Stored()) }

// Clone copies a blueprint. Messages are shared: they are never changed.
func (a Spec) Clone() Spec {
	a.Tools, a.Agents, a.Shields = slices.Clone(a.Tools), slices.Clone(a.Agents), slices.Clone(a.Shields)
	a.Fallbacks, a.Banks = slices.Clone(a.Fallbacks), slices.Clone(a.Banks)
	a.InstructionRules, a.Labels = slices.Clone(a.InstructionRules), maps.Clone(a.Labels)
	if a.Limits != nil {
		limits := *a.Limits
		a.Limits = &limits
	}
	if a.Executor != nil {
		x := *a.Executor
		x.Command, x.Env, x.Headers = slices.Clone(x.Command), maps.Clone(x.Env), maps.Clone(x.Headers)
		a.Executor = &x
	}
	return a
}
