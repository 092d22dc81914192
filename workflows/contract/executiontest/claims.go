package executiontest

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// executing is an event that a tool step writes while it runs.
func executing() *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallExecuting{ToolCallExecuting: &turnv1.ToolCallExecuting{CallId: "c"}}}
}

// claimScripts are about leases.
var claimScripts = []script{
	{"a step is held by one worker until its lease expires", []row{
		{load(false), `queued "hello" max_steps=25`},
		{claim("begin", "w1"), "lease 1 attempt 1 at +1"},
		{claim("begin", "w2"), "busy w1"},
		{claim("begin", "w1"), "busy w1"},
		{load(false), `running "hello" max_steps=25`},
		{outcomes(), "begin busy w1"},
		{pass(ttl + time.Second), ""},
		{outcomes(), ""},
		{claim("begin", "w2"), "lease 2 attempt 2 at +2"},
		{renew("begin", 1), "lease_lost"},
		{write("begin", 1, executing()), "lease_lost"},
		{commit("begin", 1), "lease_lost"},
		{release("begin", 1, 0), "lease_lost"},
		{renew("begin", 2), "renewed"},
		{events(), "step_started(begin#1) turn_recovered(begin#2)=w1>w2"},
	}},
	{"a lease that expired is still its holder's while nobody claims the step", []row{
		{claim("begin", "w1"), "lease 1 attempt 1 at +1"},
		{pass(ttl + time.Second), ""},
		{renew("begin", 1), "renewed"},
		{claim("begin", "w2"), "busy w1"},
		{pass(ttl + time.Second), ""},
		{commit("begin", 1, pins), "begin pinned"},
	}},
	{"a step that was released is free, or rests", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{release("infer-1", 1, 0), "released"},
		{release("infer-1", 1, 0), "lease_lost"},
		{renew("infer-1", 1), "lease_lost"},
		{write("infer-1", 1, executing()), "lease_lost"},
		{commit("infer-1", 1), "lease_lost"},
		{outcomes(), "begin pinned"},
		{claim("infer-1", "w2"), "lease 2 attempt 2 at +6"},
		{release("infer-1", 2, time.Minute), "released"},
		{outcomes(), "begin pinned; infer-1 busy resting"},
		{claim("infer-1", "w1"), "busy resting"},
		{pass(time.Minute + time.Second), ""},
		{claim("infer-1", "w1"), "lease 3 attempt 3 at +7"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_reset(infer-1#2)=infer-1 message_reset(infer-1#3)=infer-1"},
	}},
	{"the attempts of a tool call are one call", []row{
		{do("begin", pins), "begin pinned"},
		{claim("tool-1.0", "w1"), "lease 1 attempt 1 at +5"},
		{write("tool-1.0", 1, executing(), executing()), "written up to +7"},
		{pass(ttl + time.Second), ""},
		{claim("tool-1.0", "w1"), "lease 2 attempt 2 at +7"},
		{release("tool-1.0", 2, 0), "released"},
		{claim("tool-1.0", "w2"), "lease 3 attempt 3 at +7"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(tool-1.0#1) " +
			"tool_call_started(tool-1.0#1) tool_call_executing(tool-1.0#1) tool_call_executing(tool-1.0#1)"},
	}},
	{"a claim that makes no sense is refused", []row{
		{claim("begin", "w1", func(c *executionv1.ClaimStepRequest) { c.Step.Key = "" }), "invalid_argument step.key"},
		{
			claim("begin", "w1", func(c *executionv1.ClaimStepRequest) { c.Step.Key = strings.Repeat("x", 65) }),
			"invalid_argument step.key",
		},
		{claim("begin", "w1", func(c *executionv1.ClaimStepRequest) { c.Step.Kind = 0 }), "invalid_argument step.kind"},
		{claim("begin", "w1", func(c *executionv1.ClaimStepRequest) { c.Step.Kind = 99 }), "invalid_argument step.kind"},
		{claim("wait-1.0", "w1"), "invalid_argument step.kind"},
		{claim("steer-1", "w1"), "invalid_argument step.kind"},
		{claim("begin", ""), "invalid_argument owner"},
		{claim("begin", "w1", func(c *executionv1.ClaimStepRequest) { c.Ttl = durationpb.New(time.Millisecond) }), "invalid_argument ttl"},
		{events(), ""},
	}},
	{"a turn that does not exist has no steps", []row{
		{inUnknownTurn(load(false)), "not_found"},
		{inUnknownTurn(claim("begin", "w1")), "not_found"},
		{inUnknownTurn(renew("begin", 1)), "not_found"},
		{inUnknownTurn(release("begin", 1, 0)), "not_found"},
		{inUnknownTurn(write("begin", 1, executing())), "not_found"},
		{inUnknownTurn(commit("begin", 1)), "not_found"},
		{inUnknownTurn(outcomes()), "not_found"},
		{inUnknownTurn(conversation()), "not_found"},
		{inUnknownTurn(toolCall("infer-1", "c1")), "not_found"},
		{inUnknownTurn(recording("infer-1", "c1")), "not_found"},
		{inUnknownTurn(requestCancel()), "not_found"},
		{inUnknownTurn(waitOf("tool-1.0")), "not_found"},
		{inUnknownTurn(expireWaits()), "not_found"},
	}},
	{"a step that nobody claimed has no holder", []row{
		{renew("begin", 0), "lease_lost"},
		{release("begin", 0, 0), "lease_lost"},
		{write("begin", 0, executing()), "lease_lost"},
		{commit("begin", 0), "lease_lost"},
		{outcomes(), ""},
	}},
}
