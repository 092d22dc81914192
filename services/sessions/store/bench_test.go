package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// BenchmarkSessions lists and searches the sessions of one of two users, each of whom has 10,000 with 20 words.
func BenchmarkSessions(b *testing.B) {
	db, err := sqldb.Open(b.Context(), sqldb.Config{URL: tables.SQLite(b), Schema: "sessions"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	s, err := store.Open(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	const users, sessions, words, batch = 2, 10_000, 20, 500
	for first := 0; first < users*sessions; first += batch {
		if err := s.Write(b.Context(), func(tx *store.Tx) error {
			ctx := b.Context()
			for i := first; i < first+batch; i++ {
				id, subject := fmt.Sprintf("ses_%06d", i), fmt.Sprintf("user-%d", i%users)
				list := make([]searchdb.Word, words)
				for j := range list {
					list[j].Text = fmt.Sprintf("w%d", (i*words+j)%(1+(i*31+j*17)%4096)) // low numbers are frequent
				}
				if err := errors.Join(
					tx.AddSession(ctx, store.Session{Tenant: "default", ID: id, AgentID: "a", Subject: subject, CreateTime: sqldb.Time(int64(i))}),
					searchdb.AddWords(ctx, tx, searchdb.Session{Tenant: "default", ID: id}, subject, list)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, subject string
		words         []string
	}{
		{"list", "user-1", nil},
		{"rare", "user-1", []string{"w4001"}},
		{"two", "user-1", []string{"w4", "w39"}},
		{"prefix of all", "user-1", []string{"w"}},
		{"of anyone", "", []string{"w400"}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Sessions(b.Context(), store.SessionFilter{
					Tenant: "default", Subject: tc.subject, Words: tc.words, Page: store.Page{Limit: 50},
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
