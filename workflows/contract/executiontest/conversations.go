package executiontest

// conversationScripts are about what a model reads.
var conversationScripts = []script{
	{"input while a model step runs stands behind its message", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{steer("in French"), ""},
		{conversation(), "user:hello | user:in French (inputs=1)"},
		{commit("infer-1", 1, says("hi")), "infer-1 message=infer-1 usage=10/5/0 [steer-1 message=steer-1]"},
		{conversation(), "user:hello | assistant:hi | user:in French (inputs=1)"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, steer-1 message=steer-1"},
	}},
	{"input that a model step has read stays before its message", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{steer("in French"), ""},
		{steer("please"), ""},
		{
			commit("infer-1", 1, says("salut"), reads(1)),
			"infer-1 message=infer-1 usage=10/5/0 inputs=1 [steer-1 message=steer-1, steer-2 message=steer-2]",
		},
		{conversation(), "user:hello | user:in French | assistant:salut | user:please (inputs=2)"},
	}},
	{"input while tools run stands behind their results", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1", "c2")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", returns("c1", "one")), "tool-1.0 usage=0/0/1"},
		{steer("be brief"), ""},
		{
			conversation(),
			"user:hello | assistant:+c1+c2 | tool:one | tool:not executed: the turn ended before this call | user:be brief " +
				"(inputs=1)",
		},
		{do("tool-1.1", returns("c2", "two")), "tool-1.1 usage=0/0/1 [steer-1 message=steer-1]"},
		{conversation(), "user:hello | assistant:+c1+c2 | tool:one | tool:two | user:be brief (inputs=1)"},
		{do("infer-2", says("ok"), reads(1)), "infer-2 message=infer-2 usage=10/5/0 inputs=1 [steer-1 message=steer-1]"},
		{conversation(), "user:hello | assistant:+c1+c2 | tool:one | tool:two | user:be brief | assistant:ok (inputs=1)"},
	}},
	{"results are in the order of the calls", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1", "c2")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.1", returns("c2", "two")), "tool-1.1 usage=0/0/1"},
		{do("tool-1.0", returns("c1", "one")), "tool-1.0 usage=0/0/1"},
		{conversation(), "user:hello | assistant:+c1+c2 | tool:one | tool:two"},
	}},
	{"a summary stands for what is before it", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{do("tool-1.0", returns("c1", "long")), "tool-1.0 usage=0/0/1"},
		{claim("compact-2", "w1"), "lease 1 attempt 1 at +13"},
		{commit("compact-2", 1, sumsUp("none", "short")), "invalid_argument events"},
		{commit("compact-2", 1, sumsUp("infer-1", "")), "invalid_argument events"},
		{claim("infer-2", "w1"), "lease 1 attempt 1 at +15"},
		{commit("infer-2", 1, sumsUp("infer-1", "short")), "invalid_argument events"},
		{do("infer-3", says("all")), "infer-3 message=infer-3 usage=10/5/0"},
		{do("compact-4", sumsUp("infer-3", "short")), "compact-4"},
		{conversation(), "user:summary:short | user:hello (compacted=1 truncated)"},
		{do("infer-4", says("more")), "infer-4 message=infer-4 usage=10/5/0"},
		{conversation(), "user:summary:short | user:hello | assistant:more (compacted=1 truncated)"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) tool_call_completed(tool-1.0#1) " +
			"step_finished(tool-1.0#1) step_started(compact-2#1) step_started(infer-2#1) message_started(infer-2#1)=infer-2 " +
			"step_started(infer-3#1) message_started(infer-3#1)=infer-3 message_completed(infer-3#1)=infer-3 " +
			"usage_updated(infer-3#1)=20/10/2/1 step_finished(infer-3#1) step_started(compact-4#1) " +
			"context_compacted(compact-4#1) usage_updated(compact-4#1)=20/10/3/1 step_finished(compact-4#1) " +
			"step_started(infer-4#1) message_started(infer-4#1)=infer-4 message_completed(infer-4#1)=infer-4 " +
			"usage_updated(infer-4#1)=30/15/4/1 step_finished(infer-4#1)"},
	}},
	{"a turn that runs no other turn again has no recordings", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{recording("infer-1", "c1"), "no recording"},
	}},
}
