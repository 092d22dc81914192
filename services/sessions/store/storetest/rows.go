package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

func conversation(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1", "trn_2")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		// The second turn's input (seq 2) came before the first turn's answer (seq 5).
		for _, m := range []store.Message{
			{Seq: 1, ID: "m1", TurnID: "trn_1", TurnSeq: 1},
			{Seq: 2, ID: "m2", TurnID: "trn_2", TurnSeq: 2},
			{Seq: 5, ID: "m5", TurnID: "trn_1", TurnSeq: 1},
			{Seq: 9, ID: "m9", TurnID: "trn_2", TurnSeq: 2},
		} {
			m.Tenant, m.SessionID, m.Data = tenant, "ses_1", []byte(m.ID)
			if err := tx.AddMessages(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	back := func(turn uint32, seq int64, limit int) string {
		rows, err := s.ConversationBack(t.Context(), tenant, "ses_1", store.Point{TurnSeq: turn, Place: seq, Seq: seq}, limit)
		must(t, err)
		return names(rows)
	}
	const end = store.AfterAll
	if got := back(2, end, 10); got != "m9 m2 m5 m1 " {
		t.Errorf("whole conversation back: %s", got)
	}
	if got := back(1, end, 10); got != "m5 m1 " {
		t.Errorf("first turn's: %s", got)
	}
	if got := back(2, 2, 2); got != "m5 m1 " {
		t.Errorf("second page: %s", got)
	}
	rows, err := s.Messages(t.Context(), tenant, "ses_1", 1, 2)
	must(t, err)
	if got := names(rows); got != "m2 m5 " {
		t.Errorf("by event: %s", got)
	}
	m, err := s.Message(t.Context(), tenant, "m5")
	must(t, err)
	if m.Seq != 5 || string(m.Data) != "m5" {
		t.Errorf("message %+v", m)
	}
}

func names(rows []store.Message) string {
	var out strings.Builder
	for _, r := range rows {
		out.WriteString(r.ID + " ")
	}
	return out.String()
}

func lists(t *testing.T, s *store.Store) {
	for i := range 6 {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			id := fmt.Sprintf("ses_%d", i)
			subject := []string{"alice", "bob"}[i%2]
			if err := tx.AddSession(ctx, store.Session{
				Tenant: tenant, ID: id, AgentID: "a", Subject: subject,
				CreateTime: sqldb.Time(int64(1e15) + int64(i/2)),
			}); err != nil {
				return err
			}
			return tx.AddTurn(ctx, store.Turn{
				Tenant: tenant, ID: fmt.Sprintf("trn_%d", i), SessionID: id, Status: turnv1.TurnStatus(1 + i%2),
				CreateTime: sqldb.Time(int64(1e15) + int64(i/2)),
			})
		})
	}
	f := store.SessionFilter{Tenant: tenant, Page: store.Page{Limit: 2}}
	var got []string
	for {
		rows, err := s.Sessions(t.Context(), f)
		must(t, err)
		if len(rows) == 0 {
			break
		}
		for _, r := range rows {
			got = append(got, r.ID)
		}
		f.After, f.AfterID = rows[len(rows)-1].CreateTime, rows[len(rows)-1].ID
	}
	if fmt.Sprint(got) != "[ses_5 ses_4 ses_3 ses_2 ses_1 ses_0]" {
		t.Errorf("sessions %v", got)
	}
	turns, err := s.Turns(t.Context(), store.TurnFilter{
		Tenant: tenant, Subject: "bob", Status: 2, Page: store.Page{After: sqldb.Time(1e15 + 2), AfterID: "trn_0", Limit: 9},
	})
	must(t, err)
	if len(turns) != 2 || turns[0].ID != "trn_3" || turns[1].ID != "trn_1" {
		t.Errorf("turns %v", turns)
	}
	if other, err := s.Sessions(t.Context(), store.SessionFilter{Tenant: "other", Page: store.Page{Limit: 9}}); err != nil || len(other) != 0 {
		t.Errorf("another tenant sees %v, %v", other, err)
	}
}

func stale(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 4)
	take(t, s, 10, 3, 0) // the fourth is not dispatched
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, turn := range []string{"trn_000", "trn_001"} { // the third is still in the outbox
			if err := tx.DropOutgoing(ctx, tenant, turn); err != nil {
				return err
			}
		}
		return tx.SaveStep(ctx, store.Step{
			Tenant: tenant, TurnID: "trn_001", Key: "k", Owner: "w", Fence: 1, Attempt: 1,
			LeaseExpires: sqldb.Time(50),
		})
	})
	ids := func(now int64) string {
		turns, err := s.Stale(t.Context(), sqldb.Time(now), 9)
		must(t, err)
		var out strings.Builder
		for _, turn := range turns {
			out.WriteString(turn.ID + " ")
		}
		return out.String()
	}
	if got := ids(20); got != "trn_000 " {
		t.Errorf("stale while a lease is live: %s", got)
	}
	if got := ids(60); got != "trn_000 trn_001 " {
		t.Errorf("stale after it: %s", got)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetCheck(ctx, tenant, "trn_000", sqldb.Time(100), 2)
	})
	if got := ids(60); got != "trn_001 " {
		t.Errorf("stale after a look: %s", got)
	}
}

func deleteSession(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 2)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddSurface(ctx, tenant, "trn_000", store.Surface{
			Surface: &turnv1.Surface{Model: "m"}, Tools: []*store.PinnedTool{{Name: "t"}}, Agents: []*store.AgentTool{{Name: "agent__a"}},
		}); err != nil {
			return err
		}
		if err := tx.AddMessages(ctx, store.Message{
			Tenant: tenant, SessionID: "ses_000", Seq: 1, ID: "m", TurnID: "trn_000", TurnSeq: 1,
			Data: []byte("d"),
		}); err != nil {
			return err
		}
		if err := tx.AddEvents(ctx, tenant, "ses_000", []store.Event{{Seq: 1, Data: []byte("e")}}); err != nil {
			return err
		}
		return tx.DeleteSession(ctx, tenant, "ses_000")
	})
	for name, find := range map[string]func() error{
		"session": func() error { _, err := s.Session(t.Context(), tenant, "ses_000"); return err },
		"turn":    func() error { _, err := s.Turn(t.Context(), tenant, "trn_000"); return err },
		"message": func() error { _, err := s.Message(t.Context(), tenant, "m"); return err },
		"event":   func() error { _, err := s.Event(t.Context(), tenant, "ses_000", 1); return err },
		"surface": func() error { _, err := s.Surface(t.Context(), tenant, "trn_000"); return err },
	} {
		if err := find(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if _, err := s.Turn(t.Context(), tenant, "trn_001"); err != nil {
		t.Errorf("the other session's turn: %v", err)
	}
	if got := fmt.Sprint(take(t, s, 10, 9, 0)); got != "[trn_001]" {
		t.Errorf("outbox %s", got)
	}
}

// deletedWhileStarted: a start that was under way when the turn was erased may have made a workflow after that.
func deletedWhileStarted(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 2)
	take(t, s, 10, 1, 0) // until 110
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.DeleteSession(ctx, tenant, "ses_000"), tx.DeleteSession(ctx, tenant, "ses_001"))
	})
	erase := func(now int64) (ids []string) {
		taken, err := s.TakeErasures(t.Context(), sqldb.Time(now), sqldb.Time(1000), 10)
		must(t, err)
		for _, e := range taken {
			ids = append(ids, e.TurnID)
		}
		must(t, s.Erased(t.Context(), taken, sqldb.Time(now)))
		slices.Sort(ids)
		return ids
	}
	for _, step := range []struct {
		now  int64
		want string
	}{{20, "[ses_000 ses_001 trn_000 trn_001]"}, {109, "[]"}, {110, "[trn_000]"}, {2000, "[]"}} {
		if got := fmt.Sprint(erase(step.now)); got != step.want {
			t.Errorf("at %d %s are erased, want %s", step.now, got, step.want)
		}
	}
}
