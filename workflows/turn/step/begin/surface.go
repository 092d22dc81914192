package begin

import (
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

// newSurface pins the limits of a turn. The sessions service sets those that the agent leaves out, see LoadTurn.
func newSurface(agent *sessionsv1.Agent, now time.Time) *turnv1.Surface {
	limits := agent.GetLimits()
	return &turnv1.Surface{
		AgentId: agent.GetId(), BlueprintRevision: agent.GetRevision(),
		MaxSteps:          limits.GetMaxSteps(),
		MaxTokens:         limits.GetMaxTokens(),
		MaxParallelTools:  limits.GetMaxParallelTools(),
		MaxIdenticalCalls: limits.GetMaxIdenticalCalls(),
		DeadlineMicros:    now.Add(time.Duration(limits.GetTurnSeconds()) * time.Second).UnixMicro(),
		MaxToolCalls:      limits.GetMaxToolCalls(),
		MaxCostMicros:     maxCost(limits),
		TurnSeconds:       limits.GetTurnSeconds(),
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
