package sessions_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestSessionsHaveBanks covers which banks the turns of a session answer from.
func TestSessionsHaveBanks(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		_, err := k.apply("kind: agent\nid: clerk\nbanks: [handbook, news]\n---\nkind: agent\nid: swift\nstrategy: direct\n---\n"+
			"kind: agent\nid: reader\nstrategy: direct\naugment: {max_tokens: 900}\n", false)
		must(t, err)
		own := []string{"handbook", "news"}
		banksOf := func(session string) []string {
			t.Helper()
			out, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: k.turn(session, "hi").GetId()})
			must(t, err)
			return out.GetAgent().GetBanks()
		}
		for _, row := range []struct{ given, want []string }{
			{nil, own},
			{[]string{"news"}, []string{"news"}},
			{[]string{"law", "handbook"}, []string{"law", "handbook"}},
		} {
			ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "clerk", Banks: row.given})
			must(t, err)
			read, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses.GetId()})
			must(t, err)
			if got := banksOf(ses.GetId()); !slices.Equal(got, row.want) || !slices.Equal(read.GetBanks(), row.given) {
				t.Errorf("a session with %q has %q, and its turn %q; want %q", row.given, read.GetBanks(), got, row.want)
			}
			fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: ses.GetId()})
			must(t, err)
			other, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: ses.GetId(), Banks: []string{"x"}})
			must(t, err)
			if got := banksOf(fork.GetId()); !slices.Equal(got, row.want) || !slices.Equal(banksOf(other.GetId()), []string{"x"}) {
				t.Errorf("the fork of a session with %q has %q, one with others %q", row.given, got, other.GetBanks())
			}
		}
		chat, err := k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hi", AgentId: "clerk", Banks: []string{"law"}})
		must(t, err)
		_, err = k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hi", SessionId: chat.GetSessionId(), Banks: []string{"law"}})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("banks for a session that exists: %v", err)
		}
		ses, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: chat.GetSessionId()})
		if err != nil || !slices.Equal(ses.GetBanks(), []string{"law"}) {
			t.Errorf("the session of a chat: %v, %v", ses, err)
		}
		_, err = k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "swift", Banks: own})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("banks of a session whose agent calls no tools: %v", err)
		}
		_, err = k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "reader", Banks: own})
		must(t, err)
		fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: chat.GetSessionId(), AgentId: "swift"})
		if err != nil || len(fork.GetBanks()) != 0 {
			t.Errorf("a fork with an agent that calls no tools has banks %q, %v", fork.GetBanks(), err)
		}
		for _, wrong := range []string{"strategy: route\nagents: [clerk]", "executor: {kind: process, command: [x]}"} {
			_, err := k.apply("kind: agent\nid: wrong\naugment: {}\n"+wrong+"\n", false)
			if err == nil || !strings.Contains(err.Error(), "augment") {
				t.Errorf("augment with %s: %v", wrong, err)
			}
		}
	})
}
