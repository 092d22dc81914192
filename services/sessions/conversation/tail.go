package conversation

import (
	"context"
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// tail returns the conversation up to a turn without what a summary covers, of a longer one the newest messages that have more than limit
// bytes. What is known of the turns before it is not read again.
func (s *Service) tail(ctx context.Context, r reader, t store.Turn, limit int, sum *summary) (*past, error) {
	if known := s.recent.get(sessionKey{t.Tenant, t.SessionID}); known != nil && isPlaced(t) {
		p, err := resume(ctx, r, t, limit, known.until(t.Place))
		if err != nil {
			return nil, err
		}
		if p = p.without(sum.end()); p.begins(sum.end()) || p.size > limit {
			return p.trimmed(limit), nil
		}
	}
	p, err := backwards(ctx, r, t, limit, sum, store.EndOf(t.Place))
	if err != nil {
		return nil, err
	}
	return p.trimmed(limit), nil
}

// isPlaced reports whether the turns before a turn are over, and all behind it come later.
func isPlaced(t store.Turn) bool { return t.Place != 0 && t.Place != store.Unplaced }

// keep keeps what was read of the turns before a turn.
func (s *Service) keep(t store.Turn, limit int, read *past) {
	if !isPlaced(t) || limit < DefaultWindow {
		return
	}
	key := sessionKey{t.Tenant, t.SessionID}
	read = read.until(t.Place)
	if known := s.recent.get(key); known == nil || known.end < read.end || known.end == read.end && known.after != read.after {
		s.recent.keep(key, read)
	}
}

// resume adds to a past what came since, up to a turn. Of more than limit bytes it reads a part, and returns a past without messages.
func resume(ctx context.Context, r reader, t store.Turn, limit int, known *past) (*past, error) {
	var fresh []placed
	size := 0
	for point := store.EndOf(known.end); ; {
		rows, err := r.Conversation(ctx, t.Tenant, t.SessionID, point, store.AfterAll, windowPage)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.TurnSeq > t.Place {
				return known.with(fresh, t.Place), nil
			}
			m, err := place(row)
			if err != nil {
				return nil, err
			}
			fresh, point = append(fresh, m), m.point
			if size += m.size; size > limit {
				return &past{after: store.EndOf(t.Place)}, nil
			}
		}
		if len(rows) < windowPage {
			return known.with(fresh, t.Place), nil
		}
	}
}

// backwards reads the conversation up to a point in a turn, from there back until a summary covers the rest or more than limit bytes are
// read.
func backwards(ctx context.Context, r reader, t store.Turn, limit int, sum *summary, point store.Point) (*past, error) {
	out := &past{after: sum.end(), end: t.Place}
	for {
		rows, err := r.ConversationBack(ctx, t.Tenant, t.SessionID, point, windowPage)
		if err != nil {
			return nil, err
		}
		covered := false
		for _, row := range rows {
			if covered = !row.Point().After(out.after); covered {
				break
			}
			m, err := place(row)
			if err != nil {
				return nil, err
			}
			out.messages, point = append(out.messages, m), m.point
			out.size += m.size
		}
		more := len(rows) == windowPage && !covered
		if more && out.size <= limit {
			continue
		}
		slices.Reverse(out.messages)
		if more {
			out.after = point
			out.after.Seq--
		}
		return out, nil
	}
}

// list returns the messages.
func (p *past) list() []*turnv1.Message {
	out := make([]*turnv1.Message, len(p.messages))
	for i, m := range p.messages {
		out[i] = m.message
	}
	return out
}
