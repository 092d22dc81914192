package sessions_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

func (k *kit) fork(req *sessionsv1.ForkSessionRequest) *sessionsv1.Session {
	k.t.Helper()
	ses, err := k.sessions.ForkSession(k.t.Context(), req)
	must(k.t, err)
	return ses
}

// words lists a session's messages in short, page by page.
func (k *kit) words(session string) string {
	k.t.Helper()
	all := &executionv1.GetContextResponse{}
	for token := ""; ; {
		got, err := k.sessions.ListMessages(k.t.Context(), &sessionsv1.ListMessagesRequest{SessionId: session, PageSize: 2, PageToken: token})
		must(k.t, err)
		all.Messages = append(all.Messages, got.GetMessages()...)
		if token = got.GetNextPageToken(); token == "" {
			return said(all)
		}
	}
}

func TestAForkGoesOnByItself(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		from := k.session()
		k.worker(k.turn(from.GetId(), "one")).run("first")
		end, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: from.GetId()})
		must(t, err)
		k.worker(k.turn(from.GetId(), "two")).run("second")

		req := &sessionsv1.ForkSessionRequest{SessionId: from.GetId(), Seq: end.GetLastSeq(), Title: "other way", IdempotencyKey: "k"}
		fork := k.fork(req)
		if fork.GetForkedFromSession() != from.GetId() || fork.GetForkedFromSeq() != end.GetLastSeq() || fork.GetLastSeq() != 1 ||
			fork.GetTitle() != "other way" {
			t.Errorf("fork %v", fork)
		}
		if again := k.fork(req); again.GetId() != fork.GetId() {
			t.Errorf("the same request made %s and %s", fork.GetId(), again.GetId())
		}
		if s := k.words(fork.GetId()); s != "one|calls|3|first|" {
			t.Errorf("messages %s", s)
		}
		turn := k.turn(fork.GetId(), "three")
		k.worker(turn).run("third")
		got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
		must(t, err)
		if s := said(got); s != "one|calls|3|first|three|calls|3|third|" {
			t.Errorf("context %s", s)
		}
		first := k.watchTurn(turn, "")
		if turn.GetFirstSeq() != 2 || first[0].GetEvent().GetSeq() != 2 {
			t.Errorf("the turn begins at %d", turn.GetFirstSeq())
		}
		if s := k.words(from.GetId()); s != "one|calls|3|first|two|calls|3|second|" {
			t.Errorf("the other session has %s", s)
		}
		// A fork of the fork, after the session it came from is gone.
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: from.GetId()})
		must(t, err)
		if s := k.words(k.fork(&sessionsv1.ForkSessionRequest{SessionId: fork.GetId()}).GetId()); s != "one|calls|3|first|three|calls|3|third|" {
			t.Errorf("fork of the fork %s", s)
		}
		if s := k.words(k.fork(&sessionsv1.ForkSessionRequest{SessionId: fork.GetId(), Seq: 1}).GetId()); s != "one|calls|3|first|" {
			t.Errorf("fork of its beginning %s", s)
		}
	})
}

func TestTheJournalOfAForkBeginsWithIt(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	from := k.session().GetId()
	k.worker(k.turn(from, "one")).run("first")
	fork := k.fork(&sessionsv1.ForkSessionRequest{SessionId: from})
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{SessionId: fork.GetId()})
	must(t, err)
	r, err := stream.Recv()
	must(t, err)
	e := r.GetEvent()
	testwant.Equal(t, "event: Seq", e.GetSeq(), 1)
	testwant.Equal(t, "event: Type", e.GetType(), "session.forked")
	testwant.Equal(t, "event: TurnId", e.GetTurnId(), "")
	testwant.Equal(t, "event: SessionForked.FromSession", e.GetSessionForked().GetFromSession(), from)
	testwant.Equal(t, "event: SessionForked.FromSeq", e.GetSessionForked().GetFromSeq(), fork.GetForkedFromSeq())
	testwant.Equal(t, "event: SessionForked.Messages", e.GetSessionForked().GetMessages(), 4)
}

// A seq in the middle of a turn takes no call without its result and no input without an answer.
func TestAForkInTheMiddleOfATurn(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session().GetId()
	k.worker(k.turn(ses, "one")).run("first")
	turn := k.turn(ses, "two")
	k.turn(ses, "later")
	w := k.worker(turn)
	w.begin()
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{
		{CallId: "c1", Tool: "t"},
		{CallId: "c2", Tool: "t"},
	}}, 0)
	w.result("tool-1.2", "c2", "r2")
	w.result("tool-1.1", "c1", "r1")
	w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{CallId: "c3", Tool: "t"}}}, 0)
	all, err := k.sessions.ListMessages(t.Context(), &sessionsv1.ListMessagesRequest{SessionId: ses})
	must(t, err)
	seq := map[string]uint32{}
	for i, m := range all.GetMessages() {
		seq[[]string{"q1", "calls", "r", "a1", "q2", "later", "calls2", "r2", "r1", "calls3"}[i]] = m.GetSeq()
	}
	end := k.fork(&sessionsv1.ForkSessionRequest{SessionId: ses}).GetForkedFromSeq()
	for _, tc := range []struct {
		name     string
		seq, cut uint32
		want     string
	}{
		{"all finished turns", 0, end, "one|calls|3|first|"},
		{"at the input", seq["q2"], end, "one|calls|3|first|"},
		{"at a call without results", seq["calls2"], end, "one|calls|3|first|"},
		{"after one of two results", seq["r2"], end, "one|calls|3|first|"},
		{"after all results", seq["r1"], seq["r1"], "one|calls|3|first|two|calls|r2|r1|"},
		{"at the next call", seq["calls3"], seq["r1"], "one|calls|3|first|two|calls|r2|r1|"},
		{"in the first turn", seq["r"], seq["r"], "one|calls|3|"},
	} {
		fork := k.fork(&sessionsv1.ForkSessionRequest{SessionId: ses, Seq: tc.seq})
		got := k.words(fork.GetId())
		if got != tc.want || fork.GetForkedFromSeq() != tc.cut {
			t.Errorf("%s: %s cut at %d, want %s at %d", tc.name, got, fork.GetForkedFromSeq(), tc.want, tc.cut)
		}
	}
}

func TestForksThatAreRefused(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{MaxForkBytes: 200}})
	k.agent("assistant")
	ses := k.session().GetId()
	k.worker(k.turn(ses, strings.Repeat("x", 300))).run("a")
	for _, tc := range []struct {
		name   string
		req    *sessionsv1.ForkSessionRequest
		code   string
		fields []string
	}{
		{"no session", &sessionsv1.ForkSessionRequest{SessionId: "ses_none"}, "not_found", nil},
		{"no agent", &sessionsv1.ForkSessionRequest{SessionId: ses, AgentId: "nobody"}, "not_found", nil},
		{"ahead of the journal", &sessionsv1.ForkSessionRequest{SessionId: ses, Seq: 999}, "invalid_argument", []string{"seq"}},
		{"too large", &sessionsv1.ForkSessionRequest{SessionId: ses}, "too_large", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := k.sessions.ForkSession(t.Context(), tc.req)
			wantFault(t, err, tc.code, tc.fields...)
		})
	}
	_, err := k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "assistant"})
	must(t, err)
	_, err = k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: ses})
	wantFault(t, err, "failed_precondition")
}

func TestInputMayFork(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session().GetId()
	k.worker(k.turn(ses, "one")).run("first")
	active := k.turn(ses, "two")
	k.worker(active).begin()
	req := &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "instead", Mode: "fork", IdempotencyKey: "k"}
	turn, err := k.turns.CreateTurn(t.Context(), req)
	must(t, err)
	again, err := k.turns.CreateTurn(t.Context(), req)
	must(t, err)
	if turn.GetSessionId() == ses || again.GetId() != turn.GetId() || turn.GetFirstSeq() != 2 {
		t.Errorf("turn %v, again %v", turn, again)
	}
	k.worker(turn).run("other")
	got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: turn.GetId()})
	must(t, err)
	if s := said(got); s != "one|calls|3|first|instead|calls|3|other|" {
		t.Errorf("context %s", s)
	}
	now, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses})
	must(t, err)
	if now.GetActiveTurnId() != active.GetId() {
		t.Errorf("active is %q", now.GetActiveTurnId())
	}
}
