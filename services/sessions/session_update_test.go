package sessions_test

import (
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestUpdateSession(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	ses := k.session()
	k.turn(ses.GetId(), "hello")
	update := func(title string, labels map[string]string, paths ...string) (*sessionsv1.Session, error) {
		return k.sessions.UpdateSession(t.Context(), &sessionsv1.UpdateSessionRequest{
			Session: &sessionsv1.Session{Id: ses.GetId(), Title: title, Labels: labels}, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
		})
	}
	got, err := update("Invoices", map[string]string{"team": "red"})
	must(t, err)
	if got.GetTitle() != "Invoices" || got.GetLabels()["team"] != "red" || !got.GetUpdateTime().AsTime().After(ses.GetUpdateTime().AsTime()) {
		t.Errorf("got %v", got)
	}
	got, err = update("", nil, "title")
	must(t, err)
	if got.GetTitle() != "" || len(got.GetLabels()) != 1 {
		t.Errorf("after a title was removed: %v", got)
	}
	read, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses.GetId()})
	must(t, err)
	if read.GetTitle() != "" || !maps.Equal(read.GetLabels(), got.GetLabels()) || read.GetActiveTurnId() == "" {
		t.Errorf("read %v", read)
	}
	found, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{Label: []string{"team=red"}, PageSize: 5000})
	must(t, err)
	if len(found.GetSessions()) != 1 {
		t.Errorf("found %v", found)
	}
	for name, change := range map[string]func() error{
		"update_mask":    func() error { _, err := update("", nil, "nope"); return err },
		"session.title":  func() error { _, err := update(strings.Repeat("x", 201), nil); return err },
		"title":          func() error { _, err := update("a\x00b", nil); return err },
		"session.labels": func() error { _, err := update("", many(65)); return err },
	} {
		if e := fault.From(change()); e == nil || len(e.Fields) == 0 {
			t.Errorf("%s: %v", name, e)
		}
	}
	absent := &sessionsv1.UpdateSessionRequest{Session: &sessionsv1.Session{Id: "ses_nope"}}
	if _, err := k.sessions.UpdateSession(t.Context(), absent); fault.CodeOf(err) != "not_found" {
		t.Error("a session that does not exist was updated")
	}
}

func many(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[strings.Repeat("x", i+1)] = ""
	}
	return out
}

func TestListsOfTurnsAreShort(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	long := strings.Repeat("é", 300)
	k.turn(k.session().GetId(), long)
	for view, want := range map[sessionsv1.TurnView]int{
		sessionsv1.TurnView_TURN_VIEW_UNSPECIFIED: 201, sessionsv1.TurnView_TURN_VIEW_BASIC: 201, sessionsv1.TurnView_TURN_VIEW_FULL: 300,
	} {
		got, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{View: view, AgentId: "assistant"})
		must(t, err)
		if n := len([]rune(got.GetTurns()[0].GetInput())); n != want {
			t.Errorf("%v: %d characters, want %d", view, n, want)
		}
	}
	if none, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{AgentId: "other"}); err != nil || len(none.GetTurns()) != 0 {
		t.Errorf("turns of another agent: %v, %v", none, err)
	}
}
