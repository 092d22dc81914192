package child_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/child"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
)

// TestS16NoSubAgentGrowsBeyondItsCallers builds chains of agents with limits of their own. However these are chosen, no agent of a chain
// goes deeper than any agent above it may, and all act for the user of the first.
func TestS16NoSubAgentGrowsBeyondItsCallers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limits := rapid.SliceOfN(rapid.Uint32Range(0, 6), 7, 7).Draw(r, "max_depth of each agent, 0 for the default")
		k := sessionstest.New(t, sessionstest.Config{})
		agent := func(i int) string {
			if i == 0 {
				return sessionstest.Assistant
			}
			return fmt.Sprintf("agent%d", i)
		}
		k.Agent(agent(len(limits)), agentspec.Spec{})
		for i, depth := range slices.Backward(limits) {
			k.Agent(agent(i), agentspec.Spec{Agents: []string{agent(i + 1)}, Limits: &agentspec.Limits{MaxDepth: depth}})
		}

		turn, allowed := k.Begun("hello"), uint32(16)
		for i, depth := range limits {
			if depth == 0 {
				depth = 4
			}
			allowed = min(allowed, depth)
			c, err := k.Children.Create(k.Worker(), child.Create{
				ParentID: turn.ID, Step: "tool-1.1", Fence: k.Lease(turn, "tool-1.1").Fence, CallID: "c1", AgentID: agent(i + 1), Input: "help",
			})
			if uint32(i+1) > allowed {
				k.WantFault(err, faultv1.Reason_REASON_LIMIT_REACHED)
				return
			}
			k.Must(err)
			if turn = k.Read(c.TurnID); turn.Subject != sessionstest.Owner || c.Depth != uint32(i+1) {
				t.Fatalf("agent %d is %+v, linked as %+v", i+1, turn, c)
			}
			k.Begin(turn, &turnv1.Surface{})
		}
	})
}

// TestS16SubAgentsUseTheBudgetOfTheirCallers: a turn's limits hold for it and all below it, whatever limits those have.
func TestS16SubAgentsUseTheBudgetOfTheirCallers(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	k.Agent(helper, agentspec.Spec{})
	k.Agent(sessionstest.Assistant, agentspec.Spec{Agents: []string{helper}})
	parent := k.NewTurn("hello")
	k.Begin(parent, &turnv1.Surface{MaxTokens: 400})
	c := start(k, k.Read(parent.ID), "tool-1.1", false)
	below := k.Read(c.TurnID)
	k.Begin(below, &turnv1.Surface{MaxTokens: 100_000, MaxOutputTokens: 100})
	below = k.Read(below.ID)
	k.Commit(below, "infer-1", func(c *step.Commit) {
		c.Outcome.Usage = &turnv1.Usage{InputTokens: 300, OutputTokens: 40, ModelCalls: 1}
	})
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(below, "infer-2", "w1"))
	k.Must(err)
	if over := got.Done.GetExhausted(); over.GetScope() != "turn" || over.GetBudgetId() != parent.ID {
		t.Errorf("the second step of the sub-agent is %+v", got)
	}
}
