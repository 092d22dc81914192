package totalsdb

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Pending is how many things are to be done, and since when the oldest waits, which may be a time to come; zero = none does.
type Pending struct {
	Count  int64
	Oldest int64
}

// ToDeliver are the webhook deliveries that are neither delivered nor given up. The oldest is the one that is due first: deliveries that
// are repeated since their receivers do not answer wait for nothing until then.
func (s *Reader) ToDeliver(ctx context.Context) (Pending, error) {
	return s.pending(ctx, "SELECT count(*), coalesce(min(next_us), 0) FROM webhook_deliveries WHERE status = 0")
}

// ToFire are the times at which a schedule was due whose turn is being started. Those that are queued behind a turn, or since their
// schedule is paused, are not among them: they wait by the owner's choice.
func (s *Reader) ToFire(ctx context.Context) (Pending, error) {
	return s.pending(ctx, "SELECT count(*), coalesce(min(create_us), 0) FROM schedule_fires WHERE pending = 1 AND outcome = 'starting'")
}

func (s *Reader) pending(ctx context.Context, query string) (Pending, error) {
	p, err := sqldb.One(ctx, s.DB.Reader(), func(s sqldb.Scanner) (p Pending, err error) {
		err = s.Scan(&p.Count, &p.Oldest)
		return p, err
	}, query)
	return p, rows.Meaning(err)
}
