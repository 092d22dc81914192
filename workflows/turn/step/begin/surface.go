package begin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/tokens"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Limits are the mesh's defaults for a turn.
type Limits struct {
	// MaxSteps bounds model steps; default 25.
	MaxSteps uint32
	// MaxTokens bounds input and output tokens; default 0, no limit.
	MaxTokens int32
	// MaxParallelTools bounds tool calls at the same time; default 16.
	MaxParallelTools uint32
	// MaxIdenticalCalls bounds identical tool calls in a row; default 3.
	MaxIdenticalCalls uint32
	// TurnTime bounds the turn from its begin step on; default 30 min.
	TurnTime time.Duration
}

// surface holds the agent's limits, with the mesh's where the agent names none.
func (b begin) surface(agent *sessionsv1.Agent, now time.Time) *turnv1.Surface {
	limits, defaults := agent.GetLimits(), b.Limits
	turnTime := defaults.TurnTime
	if s := limits.GetTurnSeconds(); s > 0 {
		turnTime = time.Duration(s) * time.Second
	}
	return &turnv1.Surface{
		AgentId: agent.GetId(), BlueprintRevision: agent.GetRevision(),
		MaxSteps:          cmp.Or(limits.GetMaxSteps(), defaults.MaxSteps),
		MaxTokens:         cmp.Or(limits.GetMaxTokens(), defaults.MaxTokens),
		MaxParallelTools:  cmp.Or(limits.GetMaxParallelTools(), defaults.MaxParallelTools),
		MaxIdenticalCalls: cmp.Or(limits.GetMaxIdenticalCalls(), defaults.MaxIdenticalCalls),
		DeadlineMicros:    now.Add(turnTime).UnixMicro(),
		MaxToolCalls:      limits.GetMaxToolCalls(),
		MaxCostMicros:     maxCost(limits),
		TurnSeconds:       uint32(turnTime / time.Second),
	}
}

// choose picks the strategy and says why.
func choose(agent *sessionsv1.Agent, tools int) (turnv1.Strategy, string) {
	switch {
	case contract.Hosted(agent):
		return turnv1.Strategy_STRATEGY_REACT, "the agent's executor decides"
	case agent.GetStrategy() != turnv1.Strategy_STRATEGY_UNSPECIFIED:
		return agent.GetStrategy(), "the agent's blueprint says so"
	case tools > 0:
		return turnv1.Strategy_STRATEGY_REACT, "the agent has tools"
	case len(agent.GetTools()) > 0:
		return turnv1.Strategy_STRATEGY_DIRECT, "none of the agent's tools can be used now"
	default:
		return turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools"
	}
}

// surfaceHash stands for names and definitions of all tools, in order.
func surfaceHash(tools []*registryv1.Tool, agents []*executionv1.AgentTool) string {
	h := sha256.New()
	for _, t := range tools {
		fmt.Fprintf(h, "%s\x00%s\n", t.GetName(), t.GetDefinitionHash())
	}
	for _, a := range agents {
		fmt.Fprintf(h, "%s\x00%s\n", a.GetName(), a.GetDefinitionHash())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ownWords is what the text protocol, plans and choices add to a prompt in words of ours, in tokens.
const ownWords = 800

// promptTokens estimates what instructions and tools take in each model call of a turn.
func promptTokens(
	agent *sessionsv1.Agent, tools []*registryv1.Tool, client []*sessionsv1.ClientTool, agents []*executionv1.AgentTool,
) int32 {
	sum := tokens.Text(agent.GetInstructions())
	if s := agent.GetStrategy(); s != turnv1.Strategy_STRATEGY_UNSPECIFIED && s != turnv1.Strategy_STRATEGY_REACT &&
		s != turnv1.Strategy_STRATEGY_DIRECT {
		sum += ownWords
	}
	for _, t := range tools {
		sum += tokens.Text(t.GetName()) + tokens.Text(t.GetDescription()) + tokens.Text(t.GetInputSchemaJson())
	}
	for _, t := range client {
		sum += tokens.Text(t.String())
	}
	for _, t := range agents {
		sum += tokens.Text(t.String())
	}
	return int32(min(sum, 1<<30))
}

// maxCost is the agent's limit in millionths; its form was checked when it was set.
func maxCost(limits *sessionsv1.Limits) int64 {
	cost, _ := money.Parse(limits.GetMaxCost())
	return int64(cost)
}
