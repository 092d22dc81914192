package conversation

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// takeContext reads what belongs to the messages of a snapshot: their artifacts, and the newest compaction, if all that it stands
// for is taken over. The messages still have the ids that they have in the other session.
func (s *Service) takeContext(ctx context.Context, c *Copy, from store.Session, p Snapshot) error {
	place := map[string]int{}
	for i, m := range p.Messages {
		place[m.GetId()] = i
	}
	for _, m := range slices.Concat(p.Messages, p.Turn, p.Aside) {
		for _, id := range artifactIDs(m) {
			found, err := s.store.Artifact(ctx, from.Tenant, id, from.ID)
			if err != nil {
				return err
			}
			for _, a := range found {
				a.SessionID = c.Session.ID
				c.artifacts = append(c.artifacts, a)
			}
		}
	}
	for seq := min(from.CompactedSeq, p.UpTo); seq > 0; {
		row, err := s.store.Compaction(ctx, from.Tenant, from.ID, seq)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		event, err := Compaction(row)
		if err != nil {
			return err
		}
		if to, ok := place[event.GetToMessageId()]; ok && keptAreTaken(event, place) {
			c.compaction = &store.Compaction{
				Tenant: from.Tenant, SessionID: c.Session.ID, Seq: ForkedSeq, TurnID: row.TurnID,
				To: store.Point{Seq: int64(to)}, Data: row.Data,
			}
			return nil
		}
		seq = row.Seq - 1
	}
	return nil
}

// artifactIDs lists the artifacts that a message refers to.
func artifactIDs(m *turnv1.Message) []string {
	ids := m.GetToolResult().GetArtifactIds()
	for _, p := range m.GetContent() {
		if id := p.GetFile().GetFileId(); id != "" {
			ids = append(ids[:len(ids):len(ids)], id)
		}
	}
	return ids
}

func keptAreTaken(c *turnv1.ContextCompacted, place map[string]int) bool {
	for _, id := range c.GetKeptMessageIds() {
		if _, ok := place[id]; !ok {
			return false
		}
	}
	return true
}

// rename gives a compaction, whose To.Seq is the index of a message so far, the point and ids that the messages have in the new session.
func (c *Copy) rename(before []string) error {
	if c.compaction == nil {
		return nil
	}
	event, err := Compaction(*c.compaction)
	if err != nil {
		return err
	}
	now := map[string]string{}
	for i, id := range before {
		now[id] = c.Messages[i].ID
	}
	event.ToMessageId = now[event.GetToMessageId()]
	event.FromSeq, event.ToSeq = ForkedSeq, ForkedSeq // as all messages that were taken have
	for i, id := range event.GetKeptMessageIds() {
		event.KeptMessageIds[i] = now[id]
	}
	to := c.compaction.To.Seq
	c.compaction.To = store.Point{Place: c.Messages[to].Seq, Seq: c.Messages[to].Seq} // places are seqs there
	c.Session.CompactedSeq, c.Session.ContextBytes = ForkedSeq, int64(len(event.GetSummary()))
	for _, m := range c.Messages[to+1:] {
		c.Session.ContextBytes += int64(len(m.Data))
	}
	c.compaction.Data, err = proto.Marshal(event)
	return err
}

// writeContext stores what takeContext read.
func (c *Copy) writeContext(tx *journal.Tx) error {
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
