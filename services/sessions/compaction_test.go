package sessions_test

import (
	"strings"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// compact commits a compaction up to a message.
func (w *worker) compact(key, id, summary string, to *turnv1.Message, kept ...string) {
	w.t.Helper()
	w.commit(key, w.lease(key), func(req *executionv1.CommitStepRequest) {
		req.Events = []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: &turnv1.ContextCompacted{
			FromSeq: 1, ToSeq: to.GetSeq(), ToMessageId: to.GetId(), MessageId: id, Summary: summary, KeptMessageIds: kept,
		}}}}
	})
}

// plain is what a conversation says, with the summary's heading cut off.
func plain(c *executionv1.GetContextResponse) string {
	return strings.ReplaceAll(said(c), contract.SummaryPrefix+"\n", "")
}

func TestModelsReadTheSummaryOthersTheMessages(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session()
		k.worker(k.turn(ses.GetId(), "one")).run("first")
		k.worker(k.turn(ses.GetId(), "two")).run("second")

		w := k.worker(k.turn(ses.GetId(), "three"))
		w.begin()
		before := w.context()
		if s := plain(before); s != "one|calls|3|first|two|calls|3|second|three|" || before.GetTruncated() {
			t.Fatalf("context %s", s)
		}
		loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		full := loaded.GetContextBytes()
		w.compact("compact-1", "msg_sum1", "S1", before.GetMessages()[3])
		if got := w.context(); plain(got) != "S1|two|calls|3|second|three|" || got.GetTruncated() {
			t.Errorf("after the first: %s", plain(got))
		}
		loaded, err = k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: w.turn.GetId()})
		must(t, err)
		if now := loaded.GetContextBytes(); now <= 0 || now >= full {
			t.Errorf("the context has %d bytes after %d", now, full)
		}
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
			CallId: "c1", Tool: "calc__add",
			ArgumentsJson: "{}",
		}}}, 0)
		w.result("tool-1.0", "c1", "5")
		got := w.context()
		last := got.GetMessages()[len(got.GetMessages())-1]
		w.compact("compact-2", "msg_sum2", "S2", last, before.GetMessages()[8].GetId())
		if got := w.context(); plain(got) != "S2|three|" || !got.GetTruncated() {
			t.Errorf("inside the turn: %s, truncated %t", plain(got), got.GetTruncated())
		}
		w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("third")}, 0)
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")

		const all = "one|calls|3|first|two|calls|3|second|three|calls|5|third|"
		if s := k.words(ses.GetId()); s != all {
			t.Errorf("messages %s", s)
		}
		export, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: ses.GetId()})
		must(t, err)
		if s := said(&executionv1.GetContextResponse{Messages: export.GetMessages()}); s != all {
			t.Errorf("export %s", s)
		}

		fork := k.fork(&sessionsv1.ForkSessionRequest{SessionId: ses.GetId()})
		next := k.worker(k.turn(fork.GetId(), "four"))
		next.begin()
		if got := plain(next.context()); got != "S2|three|third|four|" {
			t.Errorf("the fork's context %s", got)
		}
		if s := k.words(fork.GetId()); s != all+"four|" {
			t.Errorf("the fork's messages %s", s)
		}
		// A fork of the time before the second compaction has the first, if any.
		early := k.fork(&sessionsv1.ForkSessionRequest{SessionId: ses.GetId(), Seq: before.GetMessages()[7].GetSeq() + 2})
		w = k.worker(k.turn(early.GetId(), "five"))
		w.begin()
		if got := plain(w.context()); got != "one|calls|3|first|two|calls|3|second|five|" {
			t.Errorf("the early fork's context %s", got)
		}
	})
}

func TestCompactionsThatAreRefused(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	w := k.worker(k.turn(k.session().GetId(), "one"))
	w.begin()
	input := w.context().GetMessages()[0]
	good := &turnv1.ContextCompacted{MessageId: "msg_s", Summary: "S", ToMessageId: input.GetId()}
	l := w.lease("compact-1")
	for name, event := range map[string]*turnv1.ContextCompacted{
		"no summary":      {MessageId: "msg_s", ToMessageId: input.GetId()},
		"no such message": {MessageId: "msg_s", Summary: "S", ToMessageId: "msg_nope"},
		"keeps a message that is not there": {
			MessageId: "msg_s", Summary: "S", ToMessageId: input.GetId(), KeptMessageIds: []string{"msg_nope"},
		},
	} {
		_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
			TurnId: w.turn.GetId(), Fence: l.GetFence(), Outcome: &turnv1.StepOutcome{Key: "compact-1"},
			Events: []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: event}}},
		})
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	w.commit("compact-1", l, func(*executionv1.CommitStepRequest) {}) // nothing to compact is fine
	l = w.lease("infer-1")
	_, err := k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: w.turn.GetId(), Fence: l.GetFence(), Outcome: &turnv1.StepOutcome{Key: "infer-1"},
		Events: []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: good}}},
	})
	wantFault(t, err, "invalid_argument", "events")
}
