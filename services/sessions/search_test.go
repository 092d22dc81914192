package sessions_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpoll"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// found lists the sessions of a request by title.
func (k *kit) found(req *sessionsv1.ListSessionsRequest) string {
	k.t.Helper()
	got, err := k.sessions.ListSessions(k.t.Context(), req)
	must(k.t, err)
	var titles []string
	for _, ses := range got.GetSessions() {
		titles = append(titles, ses.GetTitle())
	}
	slices.Sort(titles)
	return strings.Join(titles, "|")
}

// indexed waits until the words of all sessions are stored.
func (k *kit) indexed() {
	k.t.Helper()
	testpoll.Until(k.t, "all sessions are indexed", func() bool {
		due, err := sqldb.One(k.t.Context(), k.db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM session_search WHERE due > 0")
		return err == nil && due == 0
	})
}

func TestSessionsAndTurnsAreFoundByTheirWords(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 10 * time.Millisecond}})
		k.agent("assistant")
		open := func(title string) string {
			ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "assistant", Title: title})
			must(t, err)
			return ses.GetId()
		}
		bills, trip := open("Bills"), open("Trip to Málaga")
		k.worker(k.turn(bills, "Find the INVOICE of the café")).run("It is number 4711.")
		k.worker(k.turn(bills, "and the next?")).run("4712")
		k.turn(trip, "hotels, please")
		k.indexed()
		for q, want := range map[string]string{
			"invoice": "Bills", "inv": "Bills", "voice": "", "CAFE": "Bills", "café 4711": "Bills", "4711 hotels": "", "malaga": "Trip to Málaga",
			"calc__add": "", "bills": "Bills", "": "Bills|Trip to Málaga", "!?": "", "%": "", "471": "Bills",
		} {
			if got := k.found(&sessionsv1.ListSessionsRequest{Q: q}); got != want {
				t.Errorf("%q finds %q, want %q", q, got, want)
			}
		}
		turns, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{
			Q: "4712", Since: timestamppb.New(time.Unix(0, 0)), OrderBy: "duration desc",
		})
		must(t, err)
		if len(turns.GetTurns()) != 1 || turns.GetTurns()[0].GetInput() != "and the next?" {
			t.Errorf("found %v", turns)
		}
		_, err = k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{Since: timestamppb.Now(), StartTime: timestamppb.Now()})
		wantFault(t, err, "invalid_argument", "since")
		k.retitled(bills)
		completed, pinned := turnv1.TurnStatus_TURN_STATUS_COMPLETED, true
		if got := k.found(&sessionsv1.ListSessionsRequest{Status: completed, Pinned: &pinned}); got != "Papers" {
			t.Errorf("pinned and completed: %q", got)
		}
		if got := k.found(&sessionsv1.ListSessionsRequest{Status: completed, Archived: &pinned}); got != "" {
			t.Errorf("archived: %q", got)
		}
		k.restored(bills)
	})
}

// retitled gives the session "Bills" another title, and pins it.
func (k *kit) retitled(id string) {
	got, err := k.sessions.UpdateSession(k.t.Context(), &sessionsv1.UpdateSessionRequest{
		Session:    &sessionsv1.Session{Id: id, Title: "Papers", Pinned: true},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title", "pinned"}},
	})
	must(k.t, err)
	if !got.GetPinned() || got.GetArchived() {
		k.t.Errorf("updated to %v", got)
	}
	k.indexed()
	for q, want := range map[string]string{"bills": "", "papers": "Papers", "invoice papers": "Papers"} {
		if got := k.found(&sessionsv1.ListSessionsRequest{Q: q}); got != want {
			k.t.Errorf("with a new title %q finds %q, want %q", q, got, want)
		}
	}
}

// restored deletes and restores the session "Papers".
func (k *kit) restored(id string) {
	deleted, err := k.sessions.DeleteSession(k.t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: id})
	must(k.t, err)
	if !deleted.GetDeleted() || !deleted.GetRestoreUntil().AsTime().After(time.Now()) {
		k.t.Errorf("deleted: %v", deleted)
	}
	_, err = k.sessions.GetSession(k.t.Context(), &sessionsv1.GetSessionRequest{SessionId: id})
	wantFault(k.t, err, "not_found")
	_, err = k.sessions.DeleteSession(k.t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: id})
	wantFault(k.t, err, "not_found")
	if got := k.found(&sessionsv1.ListSessionsRequest{Q: "invoice"}); got != "" {
		k.t.Errorf("a deleted session is found: %q", got)
	}
	back, err := k.sessions.RestoreSession(k.t.Context(), &sessionsv1.RestoreSessionRequest{SessionId: id})
	must(k.t, err)
	k.indexed()
	if got := k.found(&sessionsv1.ListSessionsRequest{Q: "invoice"}); got != "Papers" || back.GetTitle() != "Papers" {
		k.t.Errorf("a restored session is not found: %q, %v", got, back)
	}
	_, err = k.sessions.RestoreSession(k.t.Context(), &sessionsv1.RestoreSessionRequest{SessionId: id})
	wantFault(k.t, err, "not_found")
}

func TestAnImportWithoutATitleIsFound(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{SweepInterval: 10 * time.Millisecond}})
	k.agent("assistant")
	_, err := k.sessions.ImportSession(t.Context(), &sessionsv1.ImportSessionRequest{AgentId: "assistant", Messages: []*turnv1.Message{
		{TurnId: "t", Role: turnv1.Role_ROLE_USER, Content: executiontest.Text("the giraffe")},
	}})
	must(t, err)
	k.indexed()
	got, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{Q: "giraffe"})
	if err != nil || len(got.GetSessions()) != 1 {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestADeletedSessionIsErasedWhenItsTimeIsOver(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 10 * time.Millisecond, RestoreFor: time.Millisecond}})
		k.agent("assistant")
		ses := k.session()
		k.worker(k.turn(ses.GetId(), "hello")).run("there")
		k.indexed()
		_, err := k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: ses.GetId()})
		must(t, err)
		testpoll.Until(t, "nothing is left", func() bool {
			left, err := sqldb.One(t.Context(), k.db.Reader(), sqldb.Column[int64], `SELECT (SELECT count(*) FROM sessions) +
				(SELECT count(*) FROM messages) + (SELECT count(*) FROM search_words) + (SELECT count(*) FROM session_search)`)
			return err == nil && left == 0
		})
		_, err = k.sessions.RestoreSession(t.Context(), &sessionsv1.RestoreSessionRequest{SessionId: ses.GetId()})
		wantFault(t, err, "not_found")
	})
}
