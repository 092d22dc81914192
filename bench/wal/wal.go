// Package wal counts what is committed to SQLite databases, in their write-ahead logs.
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Sizes of a log in bytes: https://sqlite.org/fileformat2.html#the_write_ahead_log.
const (
	logHeader   = 32
	frameHeader = 24
)

// Sum is a number of commits, and of the pages that they wrote.
type Sum struct{ Commits, Pages int }

// Add returns the sum of both.
func (s Sum) Add(o Sum) Sum { return Sum{s.Commits + o.Commits, s.Pages + o.Pages} }

// state is how far a log has come. A checkpoint starts the log again under another salt.
type state struct {
	salt uint64
	Sum
}

// since returns what follows an earlier state. What was appended between that state and the start of another log is missing.
func (s state) since(before state) Sum {
	if s.salt != before.salt {
		return s.Sum
	}
	return Sum{s.Commits - before.Commits, s.Pages - before.Pages}
}

// read counts the frames of a log, of which each has a page, and those that end a commit: their header holds the size of the database. A
// missing or empty log has none.
func read(path string) (state, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("count commits: %w", err)
	}
	defer file.Close()
	var head [logHeader]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return state{}, nil
		}
		return state{}, fmt.Errorf("count commits: %w", err)
	}
	s := state{salt: binary.BigEndian.Uint64(head[16:])}
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
		s.Pages++
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			s.Commits++
		}
	}
}

// Counter counts what is committed to the databases below a directory.
type Counter struct {
	logs map[string]state // by path
}

// Watch starts to count in the databases that exist now.
func Watch(dir string) (*Counter, error) {
	c := &Counter{logs: map[string]state{}}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".db") {
			return err
		}
		c.logs[path+"-wal"], err = read(path + "-wal")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the databases: %w", err)
	}
	return c, nil
}

// Count adds what was committed since it was called last to the sums of the databases, by their names.
func (c *Counter) Count(sums map[string]Sum) error {
	for path, before := range c.logs {
		now, err := read(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".db-wal")
		sums[name], c.logs[path] = sums[name].Add(now.since(before)), now
	}
	return nil
}
