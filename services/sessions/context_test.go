package sessions_test

import (
	"context"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// promptsFake shows the conversation as it is.
type promptsFake struct{}

func (promptsFake) Read(_ context.Context, _ *executionv1.LoadTurnResponse, n uint32, history *executionv1.GetContextResponse,
	_ func(context.Context, *executionv1.ReadTurnFileRequest) (*executionv1.ReadTurnFileResponse, error),
) (*sessionsv1.TurnContext, error) {
	out := &sessionsv1.TurnContext{Step: n, Compacted: history.GetCompacted(), Truncated: history.GetTruncated()}
	for _, m := range history.GetMessages() {
		text := strings.TrimSuffix(said(&executionv1.GetContextResponse{Messages: []*turnv1.Message{m}}), "|")
		out.Parts = append(out.Parts, &sessionsv1.ContextPart{Text: text, Tokens: 1})
		out.EstimatedTokens++
	}
	return out, nil
}

func texts(c *sessionsv1.TurnContext) string {
	var out []string
	for _, p := range c.GetParts() {
		out = append(out, p.GetText())
	}
	return strings.Join(out, "|") + "|"
}

func (k *kit) contextAt(turn string, step uint32) *sessionsv1.TurnContext {
	k.t.Helper()
	got, err := k.turns.GetTurnContext(k.t.Context(), &sessionsv1.GetTurnContextRequest{TurnId: turn, Step: step})
	must(k.t, err)
	return got
}

// TestTheContextOfAStepIsWhatItHasRead reads the conversation before each model step, and the context of each when the turn is over: with
// input that came while a model wrote, a compaction, and a later turn.
func TestTheContextOfAStepIsWhatItHasRead(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session()
		k.worker(k.turn(ses.GetId(), "one")).run("first")
		w := k.worker(k.turn(ses.GetId(), "two"))
		w.begin()
		var read []string
		lease := func(key string) *executionv1.Lease {
			l := w.lease(key)
			read = append(read, said(w.context()))
			return l
		}
		first := lease("infer-1")
		k.steer(w.turn.GetId(), "more") // the model does not read it any more
		w.heard("infer-1", first, 0, calls("c1"))
		w.result("tool-1.0", "c1", "a1")
		second := w.lease("infer-2")
		read = append(read, said(w.context()))
		used := &turnv1.Usage{InputTokens: 77, ModelCalls: 1}
		m := calls("c2")
		w.commit("infer-2", second, func(r *executionv1.CommitStepRequest) {
			m.Id, m.Role = second.GetMessageId(), turnv1.Role_ROLE_ASSISTANT
			r.Messages, r.Outcome.Inputs, r.Outcome.Usage, r.Outcome.MessageId = []*turnv1.Message{m}, 1, used, m.GetId()
		})
		w.result("tool-2.0", "c2", "a2")
		before := w.context().GetMessages()
		w.compact("compact-3", "msg_sum", "they talked", before[len(before)-3])
		third := lease("infer-3")
		w.heard("infer-3", third, 1, &turnv1.Message{Content: executiontest.Text("done")})
		w.commit("finish", w.lease("finish"), func(r *executionv1.CommitStepRequest) {
			r.Ending, r.Inputs = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}, 1
		})
		k.worker(k.turn(ses.GetId(), "three")).run("last")

		for i, want := range read {
			got := k.contextAt(w.turn.GetId(), uint32(i+1))
			if s := texts(got); s != want || got.GetStep() != uint32(i+1) {
				t.Errorf("step %d has %s, but the model read %s", got.GetStep(), s, want)
			}
		}
		if got := k.contextAt(w.turn.GetId(), 0); got.GetStep() != 3 || got.GetCompacted() != 1 || !got.GetTruncated() {
			t.Errorf("the newest context is %v", got)
		}
		two := k.contextAt(w.turn.GetId(), 2)
		if two.GetTokens() != 77 || two.GetCounted() != sessionsv1.TokenCount_TOKEN_COUNT_PROVIDER {
			t.Errorf("%d tokens, %s", two.GetTokens(), two.GetCounted())
		}
		if one := k.contextAt(w.turn.GetId(), 1); one.GetTokens() != one.GetEstimatedTokens() ||
			one.GetCounted() != sessionsv1.TokenCount_TOKEN_COUNT_ESTIMATED {
			t.Errorf("%d tokens, %s", one.GetTokens(), one.GetCounted())
		}
	})
}

func TestContextsAreComparedAndKept(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("one"))
	get := func(as sessionsv1.TurnServiceClient, step, against uint32) (*sessionsv1.TurnContext, error) {
		return as.GetTurnContext(t.Context(), &sessionsv1.GetTurnContextRequest{TurnId: w.turn.GetId(), Step: step, Against: against})
	}
	_, err := get(k.turns, 1, 0)
	wantFault(t, err, "not_found")
	w.run("done")
	got, err := get(k.turns, 2, 1)
	must(t, err)
	var diff []string
	for _, d := range got.GetDiff() {
		diff = append(diff, strings.ToLower(strings.TrimPrefix(d.GetOp().String(), "CONTEXT_DIFF_OP_"))+" "+d.GetPart().GetText())
	}
	if s := strings.Join(diff, ", "); s != "same one, added calls, added 3" || got.GetAgainst() != 1 {
		t.Errorf("compared with %d: %s", got.GetAgainst(), s)
	}
	for name, of := range map[string]struct {
		as            sessionsv1.TurnServiceClient
		step, against uint32
	}{
		"no such step": {k.turns, 3, 0}, "no such step to compare with": {k.turns, 1, 9}, "another user's turn": {k.as(authn.User("eve")), 1, 0},
	} {
		if _, err := get(of.as, of.step, of.against); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantFault(t, err, "not_found")
		}
	}
}
