package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sizes of SQLite's write-ahead log in bytes: https://sqlite.org/fileformat2.html#the_write_ahead_log.
const (
	logHeader   = 32
	frameHeader = 24
)

// logState is how far a write-ahead log has come. A checkpoint starts the log again under another salt.
type logState struct {
	salt            uint64
	commits, frames int
}

// since returns the commits and frames after an earlier state. What was appended between that state and the start of another log is
// missing.
func (s logState) since(before logState) logState {
	if s.salt == before.salt {
		s.commits, s.frames = s.commits-before.commits, s.frames-before.frames
	}
	return s
}

// readLog counts the frames of a write-ahead log, and those that end a commit: their header holds the size of the database. A missing or
// empty log has none.
func readLog(path string) (logState, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return logState{}, nil
	}
	if err != nil {
		return logState{}, fmt.Errorf("count commits: %w", err)
	}
	defer file.Close()
	var head [logHeader]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return logState{}, nil
		}
		return logState{}, fmt.Errorf("count commits: %w", err)
	}
	s := logState{salt: binary.BigEndian.Uint64(head[16:])}
	size := int64(binary.BigEndian.Uint32(head[8:])) + frameHeader
	var frame [frameHeader]byte
	for at := int64(logHeader); ; at += size {
		_, err := file.ReadAt(frame[:], at)
		if errors.Is(err, io.EOF) || err == nil && binary.BigEndian.Uint64(frame[8:]) != s.salt {
			return s, nil // the end, or a frame of the log before
		}
		if err != nil {
			return s, fmt.Errorf("count commits: %w", err)
		}
		s.frames++
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			s.commits++
		}
	}
}

// commits counts what turns commit to each database of a mesh.
type commits struct {
	logs map[string]logState // by path
	// awaited is what was committed before the clients saw their turns end, later what followed; by name of the database.
	awaited, later map[string]logState
	turns          int
}

// watchCommits starts to count in the files below dir.
func watchCommits(dir string) (*commits, error) {
	c := &commits{logs: map[string]logState{}, awaited: map[string]logState{}, later: map[string]logState{}}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".db") {
			return err
		}
		c.logs[path+"-wal"], err = readLog(path + "-wal")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the databases: %w", err)
	}
	return c, nil
}

// count adds what was committed since the call before to sums.
func (c *commits) count(sums map[string]logState) error {
	for path, before := range c.logs {
		now, err := readLog(path)
		if err != nil {
			return err
		}
		name, more := strings.TrimSuffix(filepath.Base(path), ".db-wal"), now.since(before)
		sum := sums[name]
		sum.commits, sum.frames = sum.commits+more.commits, sum.frames+more.frames
		sums[name], c.logs[path] = sum, now
	}
	return nil
}

func (c *commits) table() *table {
	t := &table{head: []string{"database", "commits until the end of a turn", "commits after it", "pages"}}
	var awaited, later, pages int
	add := func(name string, awaited, later, pages int) {
		per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(c.turns)) }
		t.add(name, per(awaited), per(later), per(pages))
	}
	for _, name := range slices.Sorted(maps.Keys(c.later)) {
		a, l := c.awaited[name], c.later[name]
		add(name, a.commits, l.commits, a.frames+l.frames)
		awaited, later, pages = awaited+a.commits, later+l.commits, pages+a.frames+l.frames
	}
	add("all", awaited, later, pages)
	return t
}

// countedTurns is how many turns are run to count their commits. Without load they differ little.
const countedTurns = 20

// commits runs turns one at a time and counts their commits until the mesh is idle again after each. Only SQLite's files can be read.
func (b *bench) commits(ctx context.Context, m *mesh, d *deployment) error {
	if b.options.postgres != "" {
		return nil
	}
	b.say("%s: counting commits", d.name)
	c := &client{mesh: m, agent: instant, rounds: 1, apart: b.options.apart}
	if err := c.prepare(ctx, countedTurns); err != nil {
		return err
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return err
	}
	counted, err := watchCommits(m.dir)
	if err != nil {
		return err
	}
	_, err = loop(ctx, 1, countedTurns, func(ctx context.Context) (sample, error) {
		s, err := c.turn(ctx)
		if err != nil {
			return s, err
		}
		if err := counted.count(counted.awaited); err != nil {
			return s, err
		}
		counted.turns++
		return s, errors.Join(m.settle(ctx, d.idleCores), counted.count(counted.later))
	})
	d.turns, d.commits = d.turns+countedTurns, counted
	return err
}
