package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/figures"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// sessionBlock is the number of turns of a session that are measured together: processor times come in hundredths of a second.
const sessionBlock = 20

// session is the result of many turns in one session: what they cost while the conversation grows.
type session struct {
	machine figures.Machine
	turns   int
	blocks  []block
}

// block is some turns of a session, one after the other.
type block struct {
	first, last int
	turn        spread
	used        process.Usages
}

// session makes turns in one session, and measures the first ones and every fifth of the others.
func (b *bench) session(ctx context.Context) (_ *session, err error) {
	out := &session{machine: figures.Describe(ctx), turns: b.options.session}
	err = b.alone(ctx, func(m *mesh, d *deployment) error {
		c := &client{mesh: m, agent: model.Instant, apart: b.options.apart}
		if err := c.prepare(ctx, 1); err != nil {
			return err
		}
		id := c.sessions[0]
		every := max(out.turns/5, sessionBlock)
		for made := 0; made < out.turns; {
			n := min(sessionBlock, out.turns-made)
			if made > 0 {
				n = min(every, out.turns-made)
			}
			b.say("turns %d to %d", made+1, made+n)
			part, err := b.sessionTurns(ctx, m, d, c, id, n)
			if err != nil {
				return err
			}
			part.last += made
			part.first += made
			out.blocks, made = append(out.blocks, part), made+n
		}
		return nil
	})
	return out, err
}

// sessionTurns makes n turns, and measures the last ones.
func (b *bench) sessionTurns(ctx context.Context, m *mesh, d *deployment, c *client, id string, n int) (block, error) {
	one := func(ctx context.Context) (sample, error) {
		c.mu.Lock()
		c.sessions = append(c.sessions[:0], id)
		c.mu.Unlock()
		return c.turn(ctx)
	}
	measured := min(n, sessionBlock)
	if _, err := loop(ctx, 1, n-measured, one); err != nil {
		return block{}, err
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return block{}, err
	}
	before := m.usage()
	made, err := loop(ctx, 1, measured, one)
	if err != nil {
		return block{}, err
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return block{}, err
	}
	return block{first: n - measured + 1, last: n, turn: spreadOf(made.samples, totalOf), used: m.usage().Since(before)}, nil
}

func (s *session) table() *table {
	t := &table{head: []string{"turns of the session", "processor of a turn, windlass", "temporal", "turn p50", "p99"}}
	for _, b := range s.blocks {
		each := func(group string) string { return millis(b.used[group].CPU / time.Duration(b.last-b.first+1)) }
		t.add(fmt.Sprintf("%d to %d", b.first, b.last), each(process.Windlass), each(process.Temporal), millis(b.turn.p50), millis(b.turn.p99))
	}
	return t
}

func (s *session) text() string {
	return fmt.Sprintf("One session, turns of two model calls and one tool call, milliseconds\n\n%s", s.table().text())
}

func (s *session) markdown() string {
	return strings.Join([]string{"# Turns of a long session", "", "In milliseconds.", "", s.table().markdown()}, "\n")
}

// check implements result: a person judges.
func (s *session) check() error { return nil }
