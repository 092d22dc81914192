package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

func sessionCounts(t *testing.T, s *store.Store) {
	want := func(what string, since time.Time, sessions, messages, active int64) {
		t.Helper()
		got, err := s.SessionCounts(t.Context(), tenant, since)
		must(t, err)
		if got != (totalsdb.SessionCounts{Sessions: sessions, Messages: messages, Active: active}) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	want("nothing", sqldb.Time(0), 0, 0, 0)
	addSession(t, s, "ses_1", "trn_1", "trn_2")
	addSession(t, s, "ses_2", "trn_3")
	addSession(t, s, "ses_3")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i := range 4 {
			if err := tx.AddMessages(ctx, store.Message{
				Tenant: tenant, SessionID: "ses_1", ID: fmt.Sprint("msg_", i), Seq: int64(i + 1), TurnID: "trn_1", TurnSeq: 1, Data: []byte("m"),
			}); err != nil {
				return err
			}
		}
		return tx.AddSession(ctx, store.Session{Tenant: "other", ID: "ses_4", AgentID: "a", Subject: "local", CreateTime: sqldb.Time(1)})
	})
	want("all", sqldb.Time(0), 3, 4, 2) // turns are created at 1 and 2
	want("later", sqldb.Time(2), 3, 4, 1)
	want("after the last turn", sqldb.Time(3), 3, 4, 0)

	active := func(what string, want int64) {
		t.Helper()
		got, err := s.ActiveSessions(t.Context())
		must(t, err)
		if got != want {
			t.Errorf("%s: %d active sessions, want %d", what, got, want)
		}
	}
	active("at first", 2)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		_, turn, err := tx.LockTurn(ctx, tenant, "trn_3")
		if err != nil {
			return err
		}
		turn.EndTime = sqldb.Time(9)
		return tx.SaveTurn(ctx, turn)
	})
	active("after the only turn of one ended", 1)
}
