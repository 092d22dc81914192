package sessions

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/diff"
	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// readPage is how many rows one read of a session takes.
const readPage = 200

const (
	// maxDiff bounds the differences of two answers, in bytes.
	maxDiff = 64 << 10
	// maxResult bounds what a comparison shows of a call's result, in characters.
	maxResult = 2000
)

// CompareTurns implements TurnService.
func (s *Service) CompareTurns(ctx context.Context, req *sessionsv1.CompareTurnsRequest) (*sessionsv1.TurnComparison, error) {
	a, err := s.comparable(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	b, err := s.comparable(ctx, req.GetWith())
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.TurnComparison{A: a.turn, B: b.turn, Tools: compareCalls(a, b)}
	out.Answer = &sessionsv1.ComparedAnswer{Same: a.answer == b.answer, Diff: truncate.Cut(diff.Unified(a.answer, b.answer), maxDiff)}
	return out, nil
}

// compared is one side of a comparison.
type compared struct {
	turn     *sessionsv1.ComparedTurn
	answer   string
	calls    []madeCall
	recorded map[string]bool // ids of calls of the turn itself whose results were recorded ones
}

// comparable reads a turn of the caller's.
func (s *Service) comparable(ctx context.Context, id string) (*compared, error) {
	row, ses, err := s.access.Turn(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := s.withInput(ctx, row)
	if err != nil {
		return nil, err
	}
	c := &compared{answer: t.GetOutput(), turn: &sessionsv1.ComparedTurn{
		TurnId: t.GetId(), SessionId: t.GetSessionId(), AgentId: t.GetAgentId(), BlueprintRevision: t.GetBlueprintRevision(), Model: t.GetModel(),
		Status: t.GetStatus(), StopReason: t.GetStopReason(), Usage: t.GetUsage(), RerunOf: t.GetRerunOf(),
	}}
	if row.StartUs != 0 && row.EndUs != 0 {
		c.turn.DurationMs = (row.EndUs - row.StartUs) / 1000
	}
	outcomes, _, err := s.outcomes(ctx, row)
	if err != nil {
		return nil, err
	}
	c.turn.Steps = uint32(len(outcomes))
	if row.Place == store.Unplaced {
		return c, nil // nothing was done
	}
	messages, err := s.conversations.OfTurn(ctx, ses, row, nil)
	if err != nil {
		return nil, err
	}
	c.calls = callsOf(messages)
	if t.GetRerunOf() != "" && len(c.calls) > 0 {
		c.recorded, err = s.recordedCalls(ctx, row)
	}
	return c, err
}

// recordedCalls tells which calls of a re-run got recorded results.
func (s *Service) recordedCalls(ctx context.Context, t store.Turn) (map[string]bool, error) {
	out := map[string]bool{}
	for after := t.FirstSeq; ; {
		rows, err := s.store.Events(ctx, t.Tenant, t.SessionID, after, readPage)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			after = row.Seq
			if t.LastSeq != 0 && row.Seq > t.LastSeq {
				return out, nil
			}
			e := &turnv1.Event{}
			if err := proto.Unmarshal(row.Data, e); err != nil {
				return nil, err
			}
			if c := e.GetToolCallCompleted(); c.GetRecorded() && e.GetTurnId() == t.ID {
				out[c.GetResult().GetCallId()] = true
			}
		}
		if len(rows) < readPage {
			return out, nil
		}
	}
}

// compareCalls puts the calls of two turns side by side: equal ones first, then, between them, those of the same tool.
func compareCalls(a, b *compared) []*sessionsv1.ComparedCall {
	pairs := diff.Align(len(a.calls), len(b.calls), func(i, j int) bool { return a.calls[i].hash == b.calls[j].hash })
	pairs = joinTools(pairs, a.calls, b.calls)
	var out []*sessionsv1.ComparedCall
	for _, p := range pairs {
		row := &sessionsv1.ComparedCall{}
		if p.A != diff.Only {
			row.Tool, row.A = a.calls[p.A].call.GetTool(), a.side(p.A)
		}
		if p.B != diff.Only {
			row.Tool, row.B = b.calls[p.B].call.GetTool(), b.side(p.B)
		}
		if p.A != diff.Only && p.B != diff.Only {
			row.SameArguments = a.calls[p.A].hash == b.calls[p.B].hash
			row.SameResult = sameResult(a.calls[p.A].result, b.calls[p.B].result)
		}
		out = append(out, row)
	}
	return out
}

// joinTools puts rows of one call each into one where they stand together and call the same tool.
func joinTools(pairs []diff.Pair, a, b []madeCall) []diff.Pair {
	var out []diff.Pair
	begin := 0 // of the rows since the last pair
	for _, p := range pairs {
		if p.A != diff.Only && p.B != diff.Only {
			out = append(out, p)
			begin = len(out)
			continue
		}
		i := slices.IndexFunc(out[begin:], func(q diff.Pair) bool {
			return p.A == diff.Only && q.B == diff.Only && a[q.A].call.GetTool() == b[p.B].call.GetTool()
		})
		switch {
		case i >= 0:
			out[begin+i].B = p.B
			begin += i + 1
		default:
			if out = append(out, p); p.A == diff.Only {
				begin = len(out) // later calls of b stand behind it
			}
		}
	}
	return out
}

// side is what a comparison tells of one call.
func (c *compared) side(i int) *sessionsv1.ComparedSide {
	made := c.calls[i]
	taken := made.turn != c.turn.GetTurnId()
	return &sessionsv1.ComparedSide{
		CallId: made.call.GetCallId(), ArgumentsJson: made.call.GetArgumentsJson(), Result: firstChars(conversation.Text(made.result.GetContent()), maxResult),
		IsError: made.result.GetIsError(), Open: made.result == nil, TakenOver: taken, Recorded: !taken && c.recorded[made.call.GetCallId()],
	}
}

// sameResult compares results, but for the ids of their calls.
func sameResult(a, b *turnv1.ToolResult) bool {
	if a == nil || b == nil {
		return a == b
	}
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	a.CallId, b.CallId = "", ""
	return proto.Equal(a, b)
}

func firstChars(text string, limit int) string {
	if chars := []rune(text); len(chars) > limit {
		return string(chars[:limit-1]) + "…"
	}
	return text
}
