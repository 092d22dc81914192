package trail

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Report says whether a chain is whole.
type Report struct {
	// First is the place of the oldest record that is kept; those before it were deleted after policy.audit_retention.
	First int64
	// Records is how many records were verified, Seq and Hash are the place and hash of the last of them.
	Records int64
	Seq     int64
	Hash    string
	// BrokenAt is the place of the first record that is not what was recorded; 0 = none. Problem says what is wrong there.
	BrokenAt int64
	Problem  string
}

// ErrPruned means that an anchor is of a record that was deleted.
var ErrPruned = errors.New("the record was deleted after policy.audit_retention")

// Anchor is a place and a hash that the chain had earlier, kept elsewhere.
type Anchor struct {
	Seq  int64
	Hash string
}

// Verify computes the chain of a tenant again. With an anchor it also checks that the chain still has that record: who can write to the
// database can make a whole new chain, but not one with the old hash.
func (t *Trail) Verify(ctx context.Context, tenant string, anchor Anchor) (Report, error) {
	for {
		rep, err := t.verify(ctx, tenant, anchor)
		if err != nil || rep.BrokenAt == 0 {
			return rep, err
		}
		if now, err := anchorOf(ctx, t.db.Reader(), tenant); err != nil || now.Seq+1 == rep.First {
			return rep, err
		}
		// Records were deleted meanwhile.
	}
}

func (t *Trail) verify(ctx context.Context, tenant string, anchor Anchor) (Report, error) {
	var rep Report
	end, err := t.end(ctx, t.db.Reader(), tenant) // what is added later is not verified
	if err != nil {
		return rep, fmt.Errorf("verify audit trail: %w", err)
	}
	from, err := anchorOf(ctx, t.db.Reader(), tenant)
	if err != nil {
		return rep, fmt.Errorf("verify audit trail: %w", err)
	}
	rep = Report{First: from.Seq + 1, Seq: from.Seq, Hash: from.Hash}
	switch {
	case anchor.Seq != 0 && anchor.Seq < from.Seq:
		return rep, fmt.Errorf("%w: record %d is not kept any more, and the oldest that can be compared is %d", ErrPruned, anchor.Seq, from.Seq)
	case anchor.Seq == from.Seq && anchor.Seq != 0 && anchor.Hash != from.Hash:
		rep.broken(from.Seq, "the chain was computed again: the record had another hash")
		return rep, nil
	}
	for rep.Seq < end.seq && rep.BrokenAt == 0 {
		found, err := sqldb.All(ctx, t.db.Reader(), scan, `SELECT `+columns+` FROM audit_records
			WHERE tenant = $1 AND seq > 0 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`, tenant, rep.Seq, end.seq, window)
		if err != nil {
			return rep, fmt.Errorf("verify audit trail: %w", err)
		}
		for _, r := range found {
			if !rep.next(r, anchor) {
				break
			}
		}
		if len(found) == 0 {
			rep.broken(rep.Seq+1, "the record is missing, as are all after it")
		}
	}
	after, err := sqldb.One(ctx, t.db.Reader(), sqldb.Column[int64], `SELECT seq FROM audit_records
		WHERE tenant = $1 AND seq > 0 AND seq > $2 ORDER BY seq DESC LIMIT 1`, tenant, end.seq)
	switch {
	case err != nil && !errors.Is(err, sqldb.ErrNotFound):
		return rep, fmt.Errorf("verify audit trail: %w", err)
	case rep.BrokenAt != 0:
	case rep.Hash != end.hash:
		rep.broken(rep.Seq, "the end of the chain has another hash")
	case anchor.Seq > rep.Seq:
		rep.broken(rep.Seq+1, fmt.Sprintf("the chain ends before record %d, which it had", anchor.Seq))
	case err == nil:
		now, err := t.end(ctx, t.db.Reader(), tenant)
		if err != nil {
			return rep, fmt.Errorf("verify audit trail: %w", err)
		}
		if after > now.seq {
			rep.broken(now.seq+1, "the record is after the end of the chain")
		}
	}
	return rep, nil
}

func (rep *Report) broken(seq int64, problem string) { rep.BrokenAt, rep.Problem = seq, problem }

// next verifies the next record, and reports whether the chain is whole so far.
func (rep *Report) next(r Record, anchor Anchor) bool {
	switch {
	case r.Seq != rep.Seq+1:
		rep.broken(rep.Seq+1, fmt.Sprintf("the record is missing: record %d follows %d", r.Seq, rep.Seq))
	case r.Hash != r.hashAfter(rep.Hash):
		rep.broken(r.Seq, "the record or its place was changed: its hash is another")
	case r.Links != (Links{}) && r.LinksHash != r.Links.hash(r.ID):
		rep.broken(r.Seq, "the turn, session, call or request of the record was changed: their hash is another")
	case anchor.Seq == r.Seq && anchor.Hash != r.Hash:
		rep.broken(r.Seq, "the chain was computed again: the record had another hash")
	default:
		rep.Seq, rep.Hash = r.Seq, r.Hash
		rep.Records++
		return true
	}
	return false
}
