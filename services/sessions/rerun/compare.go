package rerun

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/diff"
	"github.com/windlass-dev/windlass/libs/truncate"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxDiff bounds the differences of two answers, in bytes.
	maxDiff = 64 << 10
	// maxResult bounds what a comparison shows of a call's result, in characters.
	maxResult = 2000
)

// Compared is a turn to compare.
type Compared struct {
	Turn    store.Turn
	Session store.Session
	// Answer is its output; Rerun: it runs another turn again.
	Answer string
	Rerun  bool
}

// Comparison is how two turns differ.
type Comparison struct {
	// StepsA and StepsB count the steps that are done.
	StepsA, StepsB int
	Calls          []ComparedCall
	// SameAnswer is whether the answers agree; Diff tells where they do not.
	SameAnswer bool
	Diff       string
}

// ComparedCall is a tool call of both turns, or of one: then the other side is nil.
type ComparedCall struct {
	Tool                      string
	A, B                      *Side
	SameArguments, SameResult bool
}

// Side is a tool call of one turn.
type Side struct {
	// CallID names the call; Arguments are JSON, Result is text.
	CallID, Arguments, Result string
	// IsError: the tool failed. Open: there is no result. TakenOver: another turn made the call. Recorded: the result is a recorded one.
	IsError, Open, TakenOver, Recorded bool
}

// Compare compares two turns.
func (s *Service) Compare(ctx context.Context, a, b Compared) (Comparison, error) {
	left, err := s.compared(ctx, a)
	if err != nil {
		return Comparison{}, err
	}
	right, err := s.compared(ctx, b)
	if err != nil {
		return Comparison{}, err
	}
	return Comparison{
		StepsA: left.steps, StepsB: right.steps, Calls: compareCalls(left, right), SameAnswer: a.Answer == b.Answer,
		Diff: truncate.Cut(diff.Unified(a.Answer, b.Answer), maxDiff),
	}, nil
}

// compared is one side of a comparison.
type compared struct {
	turn     store.Turn
	steps    int
	calls    []madeCall
	recorded map[string]bool // ids of calls of the turn itself whose results were recorded ones
}

func (s *Service) compared(ctx context.Context, of Compared) (*compared, error) {
	c := &compared{turn: of.Turn}
	steps, err := s.deps.Store.Steps(ctx, of.Turn.Tenant, of.Turn.ID)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if step.Done {
			c.steps++
		}
	}
	if of.Turn.Place == store.Unplaced {
		return c, nil // nothing was done
	}
	messages, err := s.deps.Conversations.OfTurn(ctx, of.Session, of.Turn, nil)
	if err != nil {
		return nil, err
	}
	c.calls = callsOf(messages)
	if of.Rerun && len(c.calls) > 0 {
		c.recorded, err = s.recordedCalls(ctx, of.Turn)
	}
	return c, err
}

// recordedCalls returns which calls of a re-run got recorded results.
func (s *Service) recordedCalls(ctx context.Context, t store.Turn) (map[string]bool, error) {
	out := map[string]bool{}
	for after := t.FirstSeq; ; {
		rows, err := s.deps.Store.Events(ctx, t.Tenant, t.SessionID, after, pageSize)
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
		if len(rows) < pageSize {
			return out, nil
		}
	}
}

// compareCalls puts the calls of two turns side by side: equal ones first, then, between them, those of the same tool.
func compareCalls(a, b *compared) []ComparedCall {
	pairs := diff.Align(len(a.calls), len(b.calls), func(i, j int) bool { return a.calls[i].hash == b.calls[j].hash })
	pairs = joinTools(pairs, a.calls, b.calls)
	var out []ComparedCall
	for _, p := range pairs {
		row := ComparedCall{}
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
func (c *compared) side(i int) *Side {
	made := c.calls[i]
	taken := made.turn != c.turn.ID
	return &Side{
		CallID: made.call.GetCallId(), Arguments: made.call.GetArgumentsJson(),
		Result:  firstChars(conversation.Text(made.result.GetContent()), maxResult),
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
