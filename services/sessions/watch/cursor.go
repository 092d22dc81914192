package watch

import (
	"errors"
	"strconv"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
)

// ErrCursor means that a text is no cursor.
var ErrCursor = errors.New("not a cursor: want SEQ or SEQ.N")

// Position is how far a reader has come: all durable events up to Seq, and N deltas of the message that is open then.
type Position struct {
	// Seq is the seq of the last durable event seen, 0 = none.
	Seq uint32
	// N is how many deltas of the open message were seen.
	N uint32
	// Open is the seq that the open message's deltas hang on, 0 when none is open. It is not part of the cursor's text.
	Open uint32
	// Turn is the turn of the open message, empty if it is unknown. It is not part of the text either.
	Turn string
}

// Parse reads a cursor. Only the one canonical text of each cursor is accepted.
func Parse(text string) (Position, error) {
	seqText, deltaText, hasDelta := strings.Cut(text, ".")
	seq, err := number(seqText)
	if err != nil {
		return Position{}, err
	}
	p := Position{Seq: seq}
	if hasDelta {
		if p.N, err = number(deltaText); err != nil || p.N == 0 || seq == 0 {
			return Position{}, ErrCursor
		}
	}
	return p, nil
}

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, ErrCursor
	}
	return uint32(n), nil
}

// String writes the cursor: "SEQ", or "SEQ.N" while a message is open and N of its deltas were seen.
func (p Position) String() string {
	if p.N == 0 {
		return strconv.FormatUint(uint64(p.Seq), 10)
	}
	return strconv.FormatUint(uint64(p.Seq), 10) + "." + strconv.FormatUint(uint64(p.N), 10)
}

// Take moves past a durable event. An event that opens, resets or closes a message restarts the count of deltas.
func (p *Position) Take(e *turnv1.Event) {
	p.takeAt(e.GetSeq(), journal.Open(p.Open, p.Turn, e), e.GetTurnId())
}

// takeAt moves to an event of a turn, after which open is open.
func (p *Position) takeAt(seq, open uint32, turn string) {
	if open != p.Open {
		p.Open, p.N, p.Turn = open, 0, ""
	}
	if open == seq {
		p.Turn = turn
	}
	p.Seq = seq
}

// TakeDelta moves past a numbered delta if it belongs to the open message and was not seen, and reports whether it did.
func (p *Position) TakeDelta(e *turnv1.Event) bool {
	if p.Open == 0 || e.GetSeq() != p.Open || e.GetDelta() <= p.N {
		return false
	}
	p.N = e.GetDelta()
	return true
}
