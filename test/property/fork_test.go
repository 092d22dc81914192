package property

import (
	"fmt"
	"slices"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func (w *world) messages(session string) []*turnv1.Message {
	got, err := w.user.sessions.ListMessages(w.ctx(), &sessionsv1.ListMessagesRequest{SessionId: session, PageSize: 1000})
	w.need(err, "list messages")
	return got.GetMessages()
}

// checkFork wants a fork to begin with what its origin had up to a seq (0 = the turns that are over): of turns that were over
// all, and of one that was not a part.
func (w *world) checkFork(from *session, got []*turnv1.Message, seq uint32) {
	w.settled()
	origin := w.messages(from.id)
	parts := 0
	for _, t := range from.ran {
		have, want := lines(got, t.id), lines(origin, t.id)
		if t.end != nil && (seq == 0 || t.end.GetLastSeq() <= seq) {
			if !slices.Equal(have, want) {
				w.Fatalf("a fork of %s at %d: of turn %s it has\n%q\nwant\n%q", from.id, seq, t.id, have, want)
			}
			continue
		}
		if parts += min(len(have), 1); parts > 1 || seq == 0 && parts > 0 {
			w.Fatalf("a fork of %s at %d: it has parts of too many turns: %q", from.id, seq, have)
		}
		for _, line := range have {
			if !slices.Contains(want, line) {
				w.Fatalf("a fork of %s at %d: turn %s never said %q", from.id, seq, t.id, line)
			}
		}
	}
}

// lines are the messages of a turn as texts.
func lines(messages []*turnv1.Message, turn string) (out []string) {
	for _, m := range messages {
		if m.GetTurnId() == turn {
			out = append(out, fmt.Sprint(m.GetRole(), " ", text(m), " ", len(m.GetToolCalls()), " ", m.GetToolResult().GetCallId()))
		}
	}
	slices.Sort(out)
	return out
}
