package executiontest

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// endScripts are about cancels and the end of a turn.
var endScripts = []script{
	{"a cancel reaches the workers", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{requestCancel(), "requested"},
		{requestCancel(), "requested"},
		{renew("infer-1", 1), "renewed cancelled"},
		{claim("infer-1", "w2"), "busy w1 cancelled"},
		{load(false), `running "hello" max_steps=25 model=test/model tools=1 cancelled done: begin`},
		{commit("infer-1", 1, says("half")), "infer-1 message=infer-1 usage=10/5/0 cancelled"},
		{do("finish", completes(0)), "finish cancelled"},
		{requestCancel(), "turn_ended"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 turn_cancel_requested message_completed(infer-1#1)=infer-1 " +
			"usage_updated(infer-1#1)=10/5/1/0 step_finished(infer-1#1) step_started(finish#1) step_finished(finish#1) " +
			`turn_ended=cancelled/cancelled "half" []`},
	}},
	{"a turn that has ended has no more steps", []row{
		{do("begin", pins), "begin pinned"},
		{claim("tool-1.0", "w1"), "lease 1 attempt 1 at +5"},
		{do("finish", ends(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")), "finish"},
		{commit("finish", 1, ends(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")), "finish"},
		{claim("begin", "w2"), "done begin pinned"},
		{claim("tool-1.0", "w2"), "turn_ended"},
		{claim("infer-9", "w2"), "turn_ended"},
		{renew("tool-1.0", 1), "lease_lost"},
		{release("tool-1.0", 1, 0), "lease_lost"},
		{write("tool-1.0", 1, executing()), "lease_lost"},
		{commit("tool-1.0", 1), "lease_lost"},
		{commit("infer-9", 0, claimedBy("w1")), "turn_ended"},
		{outcomes(), "begin pinned, finish; ended"},
		{conversation(), "user:hello"},
		{load(false), `failed "hello" max_steps=25 model=test/model tools=1 done: begin finish`},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(tool-1.0#1) " +
			`tool_call_started(tool-1.0#1) step_started(finish#1) step_finished(finish#1) turn_ended=failed/error "" ` +
			`["calc__add"]`},
	}},
	{"an end that does not know all input is refused", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("done")), "infer-1 message=infer-1 usage=10/5/0"},
		{claim("finish", "w1"), "lease 1 attempt 1 at +9"},
		{steer("more"), ""},
		{commit("finish", 1, completes(0)), "stale [steer-1 message=steer-1]"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, steer-1 message=steer-1"},
		{commit("finish", 0, claimedBy("w1"), completes(0)), "stale [steer-1 message=steer-1]"},
		{
			do("infer-2", says("really"), reads(1), thenCommits(completes(0))),
			"infer-2 message=infer-2 usage=10/5/0 inputs=1 [steer-1 message=steer-1]",
		},
		{commit("finish", 0, claimedBy("w1"), completes(1)), "finish [steer-1 message=steer-1]"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(finish#1) input_accepted step_started(infer-2#1) " +
			"message_started(infer-2#1)=infer-2 message_completed(infer-2#1)=infer-2 usage_updated(infer-2#1)=20/10/2/0 " +
			`step_finished(infer-2#1) step_finished(finish#2) turn_ended=completed/end "really" []`},
	}},
	{"a turn that fails need not read all input", []row{
		{do("begin", pins), "begin pinned"},
		{steer("more"), ""},
		{do("finish", ends(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "max_steps")), "finish [steer-1 message=steer-1]"},
	}},
}
