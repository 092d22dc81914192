package sessions_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

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
		at := hours()
		k.schedule(&sessionsv1.Schedule{Id: "press", AgentId: "clerk", Banks: []string{"law"}})
		fired := k.fires("press", at(0), "started")
		out, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: fired.GetId()})
		if err != nil || !slices.Equal(out.GetAgent().GetBanks(), []string{"law"}) || out.GetPrincipal().GetSubject() != "local" {
			t.Errorf("the turn of a schedule with banks has %v, %v", out, err)
		}
		fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: chat.GetSessionId(), AgentId: "swift"})
		if err != nil || len(fork.GetBanks()) != 0 {
			t.Errorf("a fork with an agent that calls no tools has banks %q, %v", fork.GetBanks(), err)
		}
		_, err = k.apply("kind: schedule\nid: daily\nagent_id: clerk\ninput: news?\ninterval: 1h\nbanks: [news, law]\n", false)
		must(t, err)
		if got := k.scheduled("daily").GetBanks(); !slices.Equal(got, []string{"news", "law"}) {
			t.Errorf("the schedule of a bundle has banks %q", got)
		}
		_, err = k.schedules().UpdateSchedule(t.Context(), &sessionsv1.UpdateScheduleRequest{
			Schedule: &sessionsv1.Schedule{Id: "daily"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"banks"}},
		})
		if got := k.scheduled("daily").GetBanks(); err != nil || len(got) != 0 {
			t.Errorf("a schedule whose banks were cleared has %q, %v", got, err)
		}
		for _, wrong := range []string{"agent_id: swift", "session_id: " + chat.GetSessionId()} {
			_, err = k.apply("kind: schedule\nid: wrong\ninput: x\ninterval: 1h\nbanks: [law]\n"+wrong+"\n", false)
			if err == nil || !strings.Contains(err.Error(), "banks") {
				t.Errorf("banks of a schedule with %s: %v", wrong, err)
			}
		}
		for _, wrong := range []string{"strategy: route\nagents: [clerk]", "executor: {kind: process, command: [x]}"} {
			_, err := k.apply("kind: agent\nid: wrong\naugment: {}\n"+wrong+"\n", false)
			if err == nil || !strings.Contains(err.Error(), "augment") {
				t.Errorf("augment with %s: %v", wrong, err)
			}
		}
	})
}
