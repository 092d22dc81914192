package sessions

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// takeContext reads what belongs to the messages that a fork takes: their artifacts, and the newest compaction up to there, if all that it
// stands for is taken. The messages still have the ids that they have in the other session.
func (s *Service) takeContext(ctx context.Context, c *copied, from store.Session, p past) error {
	place := map[string]int{}
	for i, m := range p.messages {
		place[m.GetId()] = i
	}
	for _, m := range slices.Concat(p.messages, p.turn, p.aside) {
		for _, id := range m.GetToolResult().GetArtifactIds() {
			found, err := s.store.Artifact(ctx, from.Tenant, id, from.ID)
			if err != nil {
				return err
			}
			for _, a := range found {
				a.SessionID = c.session.ID
				c.artifacts = append(c.artifacts, a)
			}
		}
	}
	for seq := min(from.CompactedSeq, p.upTo); seq > 0; {
		row, err := s.store.Compaction(ctx, from.Tenant, from.ID, seq)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		told, err := compactionOf(row)
		if err != nil {
			return err
		}
		if to, ok := place[told.GetToMessageId()]; ok && keptAreTaken(told, place) {
			c.compaction = &store.Compaction{Tenant: from.Tenant, SessionID: c.session.ID, Seq: forkedSeq, TurnID: row.TurnID, To: store.Point{Seq: int64(to)}, Data: row.Data}
			return nil
		}
		seq = row.Seq - 1
	}
	return nil
}

func keptAreTaken(c *turnv1.ContextCompacted, place map[string]int) bool {
	for _, id := range c.GetKeptMessageIds() {
		if _, ok := place[id]; !ok {
			return false
		}
	}
	return true
}

// rename gives a compaction, whose To.Seq is the index of a message so far, the place and ids that the messages have in the new session.
func (c *copied) rename(before []string) error {
	if c.compaction == nil {
		return nil
	}
	told, err := compactionOf(*c.compaction)
	if err != nil {
		return err
	}
	now := map[string]string{}
	for i, id := range before {
		now[id] = c.messages[i].ID
	}
	told.ToMessageId = now[told.GetToMessageId()]
	told.FromSeq, told.ToSeq = forkedSeq, forkedSeq // as all messages that were taken have
	for i, id := range told.GetKeptMessageIds() {
		told.KeptMessageIds[i] = now[id]
	}
	to := c.compaction.To.Seq
	c.compaction.To = store.Point{Place: c.messages[to].Seq, Seq: c.messages[to].Seq} // places are seqs there
	c.session.CompactedSeq, c.session.ContextBytes = forkedSeq, int64(len(told.GetSummary()))
	for _, m := range c.messages[to+1:] {
		c.session.ContextBytes += int64(len(m.Data))
	}
	c.compaction.Data, err = proto.Marshal(told)
	return err
}

// writeContext stores what takeContext read.
func (c *copied) writeContext(tx *journal.Tx) error {
	done := map[string]bool{}
	for _, a := range c.artifacts {
		if done[a.ID] {
			continue
		}
		done[a.ID] = true
		if _, err := tx.ShareArtifact(tx.Context(), a); err != nil {
			return err
		}
	}
	if c.compaction == nil {
		return nil
	}
	return tx.AddCompaction(tx.Context(), *c.compaction)
}
