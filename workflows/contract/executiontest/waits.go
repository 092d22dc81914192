package executiontest

import (
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// waitScripts are about steps that end with a wait.
var waitScripts = []script{
	{"a wait is answered", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(0)), "tool-1.0 wait=approval"},
		{waitOf("tool-1.0"), "approval call-tool-1.0 open"},
		{waitOf("none"), "not_found"},
		{load(false), `waiting "hello" max_steps=25 model=test/model tools=1 done: begin infer-1 tool-1.0`},
		{approve("tool-1.0"), ""},
		{waitOf("tool-1.0"), "approval call-tool-1.0 approved"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 wait=approval, wait-1.0 answer=approved deadline+0s"},
		{load(false), `running "hello" max_steps=25 model=test/model tools=1 done: begin infer-1 tool-1.0 wait-1.0`},
		{do("tool-1.0.2", returns("c1", "3")), "tool-1.0.2 usage=0/0/1"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) approval_requested(tool-1.0#1) " +
			"turn_paused step_finished(tool-1.0#1) approval_resolved(wait-1.0#1) turn_resumed step_started(tool-1.0.2#1) " +
			"tool_call_completed(tool-1.0.2#1) step_finished(tool-1.0.2#1)"},
	}},
	{"the time of a turn runs again with the last answer", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1", "c2")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(0)), "tool-1.0 wait=approval"},
		{pass(time.Minute), ""},
		{do("tool-1.1", waitsFor(0)), "tool-1.1 wait=approval"},
		{pass(time.Minute), ""},
		{approve("tool-1.0"), ""},
		{pass(time.Minute), ""},
		{load(false), `waiting "hello" max_steps=25 model=test/model tools=1 done: begin infer-1 tool-1.0 tool-1.1 wait-1.0`},
		{approve("tool-1.1"), ""},
		{load(false), `running "hello" max_steps=25 model=test/model tools=1 done: begin infer-1 tool-1.0 tool-1.1 wait-1.0 wait-1.1`},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 wait=approval, tool-1.1 wait=approval, wait-1.0 " +
			"answer=approved, wait-1.1 answer=approved deadline+3m0s"},
		{do("finish", completes(0)), "finish"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) approval_requested(tool-1.0#1) " +
			"turn_paused step_finished(tool-1.0#1) step_started(tool-1.1#1) tool_call_started(tool-1.1#1) " +
			"approval_requested(tool-1.1#1) step_finished(tool-1.1#1) approval_resolved(wait-1.0#1) " +
			"approval_resolved(wait-1.1#1) turn_resumed step_started(finish#1) step_finished(finish#1) turn_ended=completed/end " +
			`"" ["calc__add"]`},
	}},
	{"a wait expires", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(ttl)), "tool-1.0 wait=approval"},
		{expireWaits(), "expired"},
		{waitOf("tool-1.0"), "approval call-tool-1.0 open"},
		{pass(ttl), ""},
		{expireWaits(), "expired"},
		{waitOf("tool-1.0"), "approval call-tool-1.0 expired"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 wait=approval, wait-1.0 answer=expired deadline+30s"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) approval_requested(tool-1.0#1) " +
			"turn_paused step_finished(tool-1.0#1) approval_resolved(wait-1.0#1) turn_resumed"},
	}},
	{"a cancel ends all waits", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1", "c2")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(0)), "tool-1.0 wait=approval"},
		{do("tool-1.1", waitsFor(0)), "tool-1.1 wait=approval"},
		{steer("hurry"), ""},
		{requestCancel(), "requested"},
		{waitOf("tool-1.1"), "approval call-tool-1.1 cancelled"},
		{do("tool-2.0", waitsFor(0)), "tool-2.0 cancelled [steer-1 message=steer-1]"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 wait=approval, tool-1.1 wait=approval, steer-1 " +
			"message=steer-1, wait-1.0 answer=cancelled cancelled, wait-1.1 answer=cancelled deadline+0s cancelled, tool-2.0 " +
			"cancelled"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) approval_requested(tool-1.0#1) " +
			"turn_paused step_finished(tool-1.0#1) step_started(tool-1.1#1) tool_call_started(tool-1.1#1) " +
			"approval_requested(tool-1.1#1) step_finished(tool-1.1#1) input_accepted turn_cancel_requested " +
			"approval_resolved(wait-1.0#1) approval_resolved(wait-1.1#1) turn_resumed step_started(tool-2.0#1) " +
			"tool_call_started(tool-2.0#1) step_finished(tool-2.0#1)"},
	}},
	{"the end of a turn ends its waits", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(0)), "tool-1.0 wait=approval"},
		{do("finish", ends(turnv1.TurnStatus_TURN_STATUS_FAILED, "deadline")), "finish"},
		{waitOf("tool-1.0"), "approval call-tool-1.0 cancelled"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 wait=approval, finish; ended"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) approval_requested(tool-1.0#1) " +
			"turn_paused step_finished(tool-1.0#1) step_started(finish#1) step_finished(finish#1) approval_resolved(wait-1.0#1) " +
			`turn_ended=failed/deadline "" ["calc__add"]`},
	}},
	{"a step that waits says nothing", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", waitsFor(0), returns("c1", "3")), "invalid_argument messages"},
	}},
}
