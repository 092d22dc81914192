package registry_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// TestRegistriesWithWrongClocks: leases are judged by the database's clock, so no running call is given up.
func TestRegistriesWithWrongClocks(t *testing.T) {
	for name, skew := range map[string][2]time.Duration{
		"an hour apart":       {-30 * time.Minute, 30 * time.Minute},
		"an hour ahead":       {0, time.Hour},
		"three seconds ahead": {0, 3 * time.Second},
		"five seconds ahead":  {0, 5 * time.Second},
		"the caller's behind": {-5 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for the database's clock
			url := tables.Postgres(t)
			w := newWorldOn(t, url)
			cfg := config()
			cfg.LeaseTTL = 2 * time.Second
			one, two := w.startOn(skewed(t, url, skew[0]), cfg), w.startOn(skewed(t, url, skew[1]), cfg)
			one.notes()
			release := make(chan struct{})
			w.bridge.set(func() { w.bridge.call = hang(release) })
			req := one.request("notes__send", "k")
			first := one.begin(t.Context(), req)
			second := make(chan story, 1)
			go func() { second <- two.call(t.Context(), req) }()
			w.startOn(skewed(t, url, skew[1]), cfg) // it sweeps orphans when it starts
			before := two.row("k").GetCreateTime().AsTime()
			if off := w.db.Now().Sub(before).Abs(); off > time.Minute {
				t.Errorf("the call was made %s from now", off)
			}
			// Two leases expire by the database's clock; the heartbeat keeps the row.
			testpoll.Until(w.t, "two leases are over", func() bool { return w.db.Now().Sub(before) > 2*cfg.LeaseTTL })
			if got := two.row("k"); enum.Name(got.GetState()) != "open" || got.GetAttempts() != 1 {
				t.Errorf("row %v", got)
			}
			close(release)
			for _, ch := range []<-chan story{first, second} {
				if s := <-ch; s.text() != "late" || s.completed.GetUnresolved() {
					t.Errorf("story %+v", s)
				}
			}
			if n := len(w.bridge.seen()); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// skewed opens the registry's database on a host whose clock is wrong.
func skewed(t *testing.T, url string, skew time.Duration) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: url, Schema: "registry", MaxConns: 2, HostTime: func() time.Time { return time.Now().Add(skew) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
