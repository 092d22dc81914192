package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func forkedMessages(t *testing.T, s *store.Store) {
	const copies = 250 // more than one statement holds
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddSession(ctx, store.Session{
			Tenant: tenant, ID: "ses_2", AgentID: "a", ForkedFrom: "ses_1", ForkedSeq: 7,
			Params: `{"a":"ä"}`, Banks: []string{"hr", "it"}, CreateTime: sqldb.Time(1),
		}); err != nil {
			return err
		}
		var rows []store.Message
		for i := range copies {
			rows = append(rows, store.Message{
				Tenant: tenant, SessionID: "ses_2", Seq: int64(i - copies), ID: fmt.Sprintf("m%03d", i), TurnID: "trn_of_ses_1", Data: []byte("d"),
			})
		}
		return tx.AddMessages(ctx, append(rows, store.Message{
			Tenant: tenant, SessionID: "ses_2", Seq: 2, ID: "own", TurnID: "trn_2", TurnSeq: 2,
			Data: []byte("d"),
		})...)
	})
	ses, err := s.Session(t.Context(), tenant, "ses_2")
	must(t, err)
	if ses.ForkedFrom != "ses_1" || ses.ForkedSeq != 7 || ses.Params != `{"a":"ä"}` || !slices.Equal(ses.Banks, []string{"hr", "it"}) {
		t.Errorf("session %+v", ses)
	}
	rows, err := s.Messages(t.Context(), tenant, "ses_2", store.BeforeAll, 1000)
	must(t, err)
	if len(rows) != copies+1 || rows[0].ID != "m000" || rows[copies].ID != "own" {
		t.Errorf("%d messages: %s", len(rows), names(rows))
	}
	rows, err = s.Messages(t.Context(), tenant, "ses_2", -2, 10)
	must(t, err)
	if got := names(rows); got != "m249 own " {
		t.Errorf("second page %s", got)
	}
	rows, err = s.ConversationBack(t.Context(), tenant, "ses_2", store.EndOf(2), 3)
	must(t, err)
	if got := names(rows); got != "own m249 m248 " {
		t.Errorf("back %s", got)
	}
	rows, err = s.Conversation(t.Context(), tenant, "ses_2", store.Point{Place: -2, Seq: -2}, 1, 10)
	must(t, err)
	if got := names(rows); got != "m249 " {
		t.Errorf("up to 1: %s", got)
	}
	key := store.Once{
		Tenant: tenant, Subject: "local", Method: "fork_session", Key: "k", Hash: "h", SessionID: "ses_2",
		ExpireTime: sqldb.Time(100),
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		_, _, err := tx.AddOnce(ctx, key, sqldb.Time(1))
		return err
	})
	if stands, err := s.Once(t.Context(), key, sqldb.Time(1)); err != nil || stands != key {
		t.Errorf("key %+v, %v", stands, err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSession(ctx, tenant, "ses_2") })
	if stands, err := s.Once(t.Context(), key, sqldb.Time(1)); err == nil {
		t.Errorf("the key of a deleted session stands: %+v", stands)
	}
}

func urgent(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1", "trn_2")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i, id := range []string{"trn_3", "trn_4"} {
			seq := uint32(i + 3)
			if err := tx.AddTurn(ctx, store.Turn{
				Tenant: tenant, ID: id, SessionID: "ses_1", Status: 1, FirstSeq: seq, InputSeq: seq, Place: store.Unplaced, Urgent: true,
			}); err != nil {
				return err
			}
			if err := tx.AddMessages(ctx, store.Message{
				Tenant: tenant, SessionID: "ses_1", Seq: int64(seq), ID: "in " + id, TurnID: id, TurnSeq: store.Unplaced, Data: []byte("d"),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	var order []string
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		order = nil
		for {
			next, err := tx.NextQueued(ctx, tenant, "ses_1")
			if err != nil {
				return nil //nolint:nilerr // none is left
			}
			order = append(order, next.ID)
			next.Status = 2
			if next.Place == store.Unplaced {
				next.Place = uint32(10 + len(order))
				if err := tx.PlaceTurn(ctx, next); err != nil {
					return err
				}
			}
			if err := tx.SaveTurn(ctx, next); err != nil {
				return err
			}
		}
	})
	if fmt.Sprint(order) != "[trn_4 trn_3 trn_1 trn_2]" {
		t.Errorf("order %v", order)
	}
	rows, err := s.Conversation(t.Context(), tenant, "ses_1", store.Beginning(), store.AfterAll, 10)
	must(t, err)
	if got := names(rows); got != "in trn_4 in trn_3 " {
		t.Errorf("conversation %s", got)
	}
	turns, err := s.TurnsInOrder(t.Context(), tenant, "ses_1", 1, 2)
	must(t, err)
	if len(turns) != 2 || turns[1].ID != "trn_3" || !turns[1].Urgent || turns[1].Place != 12 {
		t.Errorf("turns %+v", turns)
	}
}
