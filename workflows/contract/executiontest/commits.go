package executiontest

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// These are events that no step may write.
func ended() *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{}}}
}

func delta() *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{}}}
}

func artifactCreated() *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ArtifactCreated{ArtifactCreated: &turnv1.ArtifactCreated{}}}
}

// commitScripts are about what a commit writes.
var commitScripts = []script{
	{"a turn with a tool call", []row{
		{load(true), `queued "hello" max_steps=25; user:hello`},
		{do("begin", pins), "begin pinned"},
		{load(true), `running "hello" max_steps=25 model=test/model tools=1 done: begin`},
		{do("infer-1", says("let me see", "c1")), "infer-1 message=infer-1 usage=10/5/0"},
		{toolCall("infer-1", "c1"), `c1 calc__add {"a":1}`},
		{toolCall("infer-1", "c2"), "not_found"},
		{toolCall("none", "c1"), "not_found"},
		{do("tool-1.0", returns("c1", "3")), "tool-1.0 usage=0/0/1"},
		{do("infer-2", says("it is 3"), withEvent("infer-2")), "infer-2 message=infer-2 usage=10/5/0"},
		{conversation(), "user:hello | assistant:let me see+c1 | tool:3 | assistant:it is 3"},
		{do("finish", completes(0)), "finish"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 usage=0/0/1, infer-2 message=infer-2 usage=10/5/0, " +
			"finish; ended"},
		{load(false), `completed "hello" max_steps=25 model=test/model tools=1 done: begin infer-1 tool-1.0 infer-2 finish`},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) tool_call_completed(tool-1.0#1) " +
			"step_finished(tool-1.0#1) step_started(infer-2#1) message_started(infer-2#1)=infer-2 " +
			"message_completed(infer-2#1)=infer-2 usage_updated(infer-2#1)=20/10/2/1 step_finished(infer-2#1) " +
			`step_started(finish#1) step_finished(finish#1) turn_ended=completed/end "it is 3" ["calc__add"]`},
	}},
	{"a commit is written once", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("once")), "infer-1 message=infer-1 usage=10/5/0"},
		{commit("infer-1", 1, says("twice")), "infer-1 message=infer-1 usage=10/5/0"},
		{commit("infer-1", 2, says("thrice")), "lease_lost"},
		{claim("infer-1", "w2"), "done infer-1 message=infer-1 usage=10/5/0"},
		{renew("infer-1", 1), "lease_lost"},
		{release("infer-1", 1, 0), "released"},
		{write("infer-1", 1, executing()), "lease_lost"},
		{conversation(), "user:hello | assistant:once"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1)"},
	}},
	{"outcomes are in the order of the first claims", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("", "c1", "c2")), "infer-1 message=infer-1 usage=10/5/0"},
		{claim("tool-1.0", "w1"), "lease 1 attempt 1 at +10"},
		{do("tool-1.1", returns("c2", "two")), "tool-1.1 usage=0/0/1"},
		{commit("tool-1.0", 1, returns("c1", "one")), "tool-1.0 usage=0/0/1"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 usage=0/0/1, tool-1.1 usage=0/0/1"},
		{conversation(), "user:hello | assistant:+c1+c2 | tool:one | tool:two"},
	}},
	{"artifacts are stored with their events", []row{
		{do("begin", pins), "begin pinned"},
		{do("tool-1.0", returns("c1", "a file"), stores("art_1")), "tool-1.0 usage=0/0/1"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(tool-1.0#1) " +
			"tool_call_started(tool-1.0#1) artifact_created(tool-1.0#1) tool_call_completed(tool-1.0#1) " +
			"step_finished(tool-1.0#1)"},
	}},
	{"a step writes only what is its own", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{write("infer-1", 1, &turnv1.Event{}), "invalid_argument events"},
		{write("infer-1", 1, ended()), "invalid_argument events"},
		{write("infer-1", 1, delta()), "invalid_argument events"},
		{write("infer-1", 1, artifactCreated()), "invalid_argument events"},
		{commit("infer-1", 1, ends(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")), "invalid_argument ending"},
		{commit("infer-1", 1, waitsFor(0)), "invalid_argument wait"},
		{commit("", 1), "invalid_argument outcome.key"},
		{commit("infer-1", 1, says("hi")), "infer-1 message=infer-1 usage=10/5/0"},
		{claim("finish", "w1"), "lease 1 attempt 1 at +9"},
		{commit("finish", 1), "invalid_argument ending"},
		{commit("finish", 1, ends(turnv1.TurnStatus_TURN_STATUS_RUNNING, "end")), "invalid_argument ending.status"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0; finish busy w1"},
	}},
}

// followScripts are about commits that claim.
var followScripts = []script{
	{"a commit claims its step", []row{
		{commit("begin", 0, claimedBy("w1"), pins), "begin pinned"},
		{commit("begin", 0, claimedBy("w2"), pins), "adopted begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{commit("infer-1", 0, claimedBy("w2"), says("hi")), "busy w1"},
		{conversation(), "user:hello"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1"},
	}},
	{"a commit claims the next steps", []row{
		{commit("begin", 0, claimedBy("w1"), pins, thenClaims("infer-1")), "begin pinned; lease 1 attempt 1 at +5"},
		{
			commit("infer-1", 1, says("", "c1", "c2"), thenClaims("tool-1.0", "tool-1.1")),
			"infer-1 message=infer-1 usage=10/5/0; lease 1 attempt 1 at +10; lease 1 attempt 1 at +12",
		},
		{commit("tool-1.0", 1, returns("c1", "one"), thenClaims("tool-1.1")), "tool-1.0 usage=0/0/1; busy w1"},
		{commit("tool-1.1", 1, returns("c2", "two"), thenClaims("tool-1.0")), "tool-1.1 usage=0/0/1; done tool-1.0 usage=0/0/1"},
		{commit("tool-1.1", 1, returns("c2", "two"), thenClaims("infer-2")), "tool-1.1 usage=0/0/1"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0, tool-1.0 usage=0/0/1, tool-1.1 usage=0/0/1"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			"step_finished(infer-1#1) step_started(tool-1.0#1) tool_call_started(tool-1.0#1) step_started(tool-1.1#1) " +
			"tool_call_started(tool-1.1#1) tool_call_completed(tool-1.0#1) step_finished(tool-1.0#1) " +
			"tool_call_completed(tool-1.1#1) step_finished(tool-1.1#1)"},
	}},
	{"a commit ends the turn", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("bye"), thenCommits(completes(0))), "infer-1 message=infer-1 usage=10/5/0; finish"},
		{events(), "step_started(begin#1) turn_started(begin#1) step_finished(begin#1) step_started(infer-1#1) " +
			"message_started(infer-1#1)=infer-1 message_completed(infer-1#1)=infer-1 usage_updated(infer-1#1)=10/5/1/0 " +
			`step_finished(infer-1#1) step_started(finish#1) step_finished(finish#1) turn_ended=completed/end "bye" []`},
	}},
	{"after a limit nothing follows", []row{
		{do("begin", pins), "begin pinned"},
		{do("infer-1", says("long"), exhausted, thenClaims("infer-2")), "infer-1 message=infer-1 usage=10/5/0 exhausted"},
		{do("infer-2", says("long"), exhausted, thenCommits(completes(0))), "infer-2 message=infer-2 usage=10/5/0 exhausted"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0 exhausted, infer-2 message=infer-2 usage=10/5/0 exhausted"},
	}},
	{"after a cancel nothing follows", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{requestCancel(), "requested"},
		{commit("infer-1", 1, says("half"), thenClaims("infer-2")), "infer-1 message=infer-1 usage=10/5/0 cancelled"},
		{do("infer-2", says("whole"), thenCommits(completes(0))), "infer-2 message=infer-2 usage=10/5/0 cancelled"},
		{outcomes(), "begin pinned, infer-1 message=infer-1 usage=10/5/0 cancelled, infer-2 message=infer-2 usage=10/5/0 cancelled"},
	}},
	{"what does not fit together is refused as a whole", []row{
		{do("begin", pins), "begin pinned"},
		{claim("infer-1", "w1"), "lease 1 attempt 1 at +5"},
		{commit("infer-1", 1, says("hi"), thenClaims("wait-1.0")), "invalid_argument step.kind"},
		{commit("infer-1", 1, says("hi"), thenClaims("infer-2"), thenCommits(completes(0))), "invalid_argument then"},
		{commit("infer-1", 1, says("hi"), thenCommits()), "invalid_argument then"},
		{outcomes(), "begin pinned; infer-1 busy w1"},
		{commit("infer-1", 1, says("hi")), "infer-1 message=infer-1 usage=10/5/0"},
		{conversation(), "user:hello | assistant:hi"},
	}},
}
