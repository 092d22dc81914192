package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/wal"
)

// commits is what turns commit to each database of a mesh, by its name: before the clients see their turns end, and after that.
type commits struct {
	awaited, later map[string]wal.Sum
}

// countedTurns is how many turns are run to count their commits. Without load they differ little.
const countedTurns = 20

// commits runs turns one at a time and counts their commits until the mesh is idle again after each. Only SQLite's files can be read.
func (b *bench) commits(ctx context.Context, m *mesh, d *deployment) error {
	if b.options.postgres != "" {
		return nil
	}
	b.say("%s: counting commits", d.name)
	c := &client{mesh: m, agent: model.Instant, rounds: 1, apart: b.options.apart}
	if err := c.prepare(ctx, countedTurns); err != nil {
		return err
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return err
	}
	counter, err := wal.Watch(m.dir)
	if err != nil {
		return err
	}
	counted := &commits{awaited: map[string]wal.Sum{}, later: map[string]wal.Sum{}}
	_, err = loop(ctx, 1, countedTurns, func(ctx context.Context) (sample, error) {
		s, err := c.turn(ctx)
		if err != nil {
			return s, err
		}
		if err := counter.Count(counted.awaited); err != nil {
			return s, err
		}
		return s, errors.Join(m.settle(ctx, d.idleCores), counter.Count(counted.later))
	})
	d.turns, d.commits = d.turns+countedTurns, counted
	return err
}

func (c *commits) table() *table {
	t := &table{head: []string{"database", "commits until the end of a turn", "commits after it", "pages"}}
	add := func(name string, awaited, later wal.Sum) {
		per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/countedTurns) }
		t.add(name, per(awaited.Commits), per(later.Commits), per(awaited.Add(later).Pages))
	}
	for _, name := range slices.Sorted(maps.Keys(c.later)) {
		add(name, c.awaited[name], c.later[name])
	}
	awaited, later := c.sums()
	add("all", awaited, later)
	return t
}

// sums adds up the databases.
func (c *commits) sums() (awaited, later wal.Sum) {
	for name := range c.later {
		awaited, later = awaited.Add(c.awaited[name]), later.Add(c.later[name])
	}
	return awaited, later
}
