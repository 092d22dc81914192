package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

func take(t testing.TB, s *store.Store, now int64, limit, maxOpen int) []string {
	t.Helper()
	var ids []string
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		taken, err := tx.TakeOutgoing(ctx, sqldb.Time(now), sqldb.Time(now+100), limit, maxOpen)
		ids = nil
		for _, o := range taken {
			ids = append(ids, o.TurnID)
			if o.TraceParent != "trace of "+o.TurnID {
				t.Errorf("%s comes with trace parent %q", o.TurnID, o.TraceParent)
			}
		}
		return err
	})
	return ids
}

// fillOutbox makes n sessions with a turn each, all in the outbox in order.
func fillOutbox(t testing.TB, s *store.Store, n int) {
	t.Helper()
	for i := range n {
		session, turn := fmt.Sprintf("ses_%03d", i), fmt.Sprintf("trn_%03d", i)
		addSession(t, s, session, turn)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddOutgoing(ctx, store.Outgoing{
				Tenant: tenant, TurnID: turn, SessionID: session, AgentID: "a",
				CreateTime: sqldb.Time(int64(i)),
			})
		})
	}
}

func outboxOnce(t *testing.T, s *store.Store) {
	const turns = 60
	fillOutbox(t, s, turns)
	var mu sync.Mutex
	var got []string
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				ids := take(t, s, 10, 3, 0)
				if len(ids) == 0 {
					return
				}
				mu.Lock()
				got = append(got, ids...)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	// SKIP LOCKED may leave a loser with nothing while others still take: the rest is there for the next look.
	got = append(got, take(t, s, 10, turns, 0)...)
	slices.Sort(got)
	if len(got) != turns || len(slices.Compact(got)) != turns {
		t.Fatalf("%d turns taken, want %d, each once", len(got), turns)
	}
	if again := take(t, s, 200, turns, 0); len(again) != turns {
		t.Errorf("%d turns taken again after their time, want %d", len(again), turns)
	}
}

func outboxBound(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 5)
	if got := fmt.Sprint(take(t, s, 10, 10, 3)); got != "[trn_000 trn_001 trn_002]" {
		t.Fatalf("taken %s", got)
	}
	if got := take(t, s, 10, 10, 3); len(got) != 0 {
		t.Fatalf("taken above the bound: %v", got)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DropOutgoing(ctx, tenant, "trn_000"); err != nil {
			return err
		}
		_, done, err := tx.LockTurn(ctx, tenant, "trn_000")
		done.EndTime = sqldb.Time(5)
		return errors.Join(err, tx.SaveTurn(ctx, done))
	})
	if got := fmt.Sprint(take(t, s, 10, 10, 3)); got != "[trn_003]" {
		t.Fatalf("taken %s after one ended", got)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.FreeOutgoing(ctx, tenant, "trn_001", sqldb.Time(0))
	})
	if got := fmt.Sprint(take(t, s, 10, 10, 3)); got != "[trn_001]" {
		t.Fatalf("taken %s after one start failed", got)
	}
	some, err := s.HasOutgoing(t.Context(), sqldb.Time(10))
	must(t, err)
	if !some {
		t.Error("the outbox holds a turn that waits")
	}
}

func withdraw(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 2)
	try := func(turn string) bool {
		var ok bool
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			ok, err = tx.WithdrawOutgoing(ctx, tenant, turn)
			return err
		})
		return ok
	}
	take(t, s, 10, 1, 0)
	if try("trn_000") {
		t.Error("a taken turn was withdrawn")
	}
	if !try("trn_001") || try("trn_001") {
		t.Error("want a waiting turn to be withdrawn once")
	}
}

func once(t *testing.T, s *store.Store) {
	add := func(hash, turn string, now int64) (stands store.Once, added bool) {
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			stands, added, err = tx.AddOnce(ctx, store.Once{
				Tenant: tenant, Subject: "local", Method: "m", Key: "k", Hash: hash, TurnID: turn, ExpireTime: sqldb.Time(now + 100),
			}, sqldb.Time(now))
			return err
		})
		return stands, added
	}
	if _, added := add("h1", "trn_1", 10); !added {
		t.Fatal("the first was not added")
	}
	if stands, added := add("h2", "trn_2", 20); added || stands.Hash != "h1" || stands.TurnID != "trn_1" {
		t.Fatalf("second: %v %+v", added, stands)
	}
	if stands, added := add("h3", "trn_3", 110); !added || stands.TurnID != "trn_3" {
		t.Fatalf("after expiry: %v %+v", added, stands)
	}
	must(t, s.ForgetOnce(t.Context(), sqldb.Time(210)))
	_, err := s.Once(t.Context(), store.Once{Tenant: tenant, Subject: "local", Method: "m", Key: "k"}, sqldb.Time(0))
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after forgetting: %v", err)
	}
	var winners sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, added := add("h", fmt.Sprint(i), 300); added {
				winners.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	winners.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d concurrent requests were the first", n)
	}
}

func texts(t *testing.T, s *store.Store) {
	const odd = "nul \x00, quote ', back \\, 日本"
	addSession(t, s, "ses_1")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddTurnInput(ctx, tenant, store.TurnInput{TurnID: "trn_1", Input: odd, Principal: &policyv1.Principal{Subject: "nul \x00"}})
	})
	in, err := s.TurnInputs(t.Context(), tenant, "trn_1", "trn_nope")
	must(t, err)
	if len(in) != 1 || in[0].Input != odd || in[0].Principal.GetSubject() != "nul \x00" {
		t.Errorf("input came back as %+v", in)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddSession(ctx, store.Session{Tenant: tenant, ID: "ses_2", Labels: map[string]string{"k\x00": strings.Repeat("v", 10)}})
	})
	ses, err := s.Session(t.Context(), tenant, "ses_2")
	must(t, err)
	if ses.Labels["k\x00"] != "vvvvvvvvvv" {
		t.Errorf("labels came back as %q", ses.Labels)
	}
}
