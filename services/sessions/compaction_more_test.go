package sessions_test

import (
	"fmt"
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestASummaryTakesOverWhatTheOneBeforeStandsFor: and models are told how much of what they read is no message of the conversation.
func TestASummaryTakesOverWhatTheOneBeforeStandsFor(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session()
		k.worker(k.turn(ses.GetId(), "one")).run("first")
		w := k.worker(k.turn(ses.GetId(), "two"))
		w.begin()
		before := w.context()
		if before.GetCompacted() != 0 {
			t.Errorf("%d messages of a conversation that was not compacted are none", before.GetCompacted())
		}
		all := before.GetMessages()
		w.compact("compact-1", "msg_sum1", "S1", all[2], all[len(all)-1].GetId())
		if got := w.context(); got.GetCompacted() != 2 {
			t.Errorf("%d of %s", got.GetCompacted(), plain(got))
		}
		w.compact("compact-2", "msg_sum2", "S2", all[3])
		if got := w.context(); got.GetCompacted() != 1 {
			t.Errorf("%d of %s", got.GetCompacted(), plain(got))
		}
		done := k.events(ses.GetId(), "context.compacted")
		if len(done) != 2 {
			t.Fatalf("%d compactions", len(done))
		}
		for i := range done {
			if c := done[i].GetContextCompacted(); c.GetFromSeq() != 1 {
				t.Errorf("compaction %d: %v", i, c)
			}
		}
	})
}

func TestAWindowThatIsTooSmall(t *testing.T) {
	k := newKit(t, options{})
	for n, good := range map[int32]bool{0: true, 1: false, 1999: false, 2000: true, -1: false} {
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{
			Agent: &sessionsv1.Agent{Id: strings.ReplaceAll(fmt.Sprintf("a%d", n), "-", "m"), MaxContextTokens: n},
		})
		if !good {
			wantFault(t, err, "invalid_argument", "agent.max_context_tokens")
		} else if err != nil {
			t.Error(err)
		}
	}
}
