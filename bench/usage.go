package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc: Linux reports hundredths of a second whatever the kernel's tick.
const tick = 10 * time.Millisecond

// usage is what a group of processes has used and holds.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

func (u usage) add(o usage) usage { return usage{cpu: u.cpu + o.cpu, rss: u.rss + o.rss} }

// usages maps groups ("windlass", "temporal", …) to what they use.
type usages map[string]usage

// since returns the CPU time used since an earlier measurement; the memory is the present one.
func (u usages) since(before usages) usages {
	out := maps.Clone(u)
	for group, now := range u {
		now.cpu -= before[group].cpu
		out[group] = now
	}
	return out
}

// stat is a process in /proc.
type stat struct {
	pid, parent int
	usage       usage
}

// processes reads /proc; it returns none on a system without it.
func processes(root string) map[int]stat {
	out := map[int]stat{}
	names, err := filepath.Glob(filepath.Join(root, "[0-9]*", "stat"))
	if err != nil {
		return out // only a bad pattern is an error
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // ended meanwhile
		}
		if s, err := parseStat(string(text)); err == nil {
			out[s.pid] = s
		}
	}
	return out
}

// parseStat parses a line of proc(5). The second field is the program's name in parentheses and may contain anything.
func parseStat(line string) (stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("unreadable process status %q", line)
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 22 {
		return stat{}, fmt.Errorf("short process status %q", line)
	}
	var n [5]int
	for i, text := range []string{strings.TrimSpace(line[:open]), fields[1], fields[11], fields[12], fields[21]} {
		v, err := strconv.Atoi(text)
		if err != nil {
			return stat{}, fmt.Errorf("process status %q: %w", line, err)
		}
		n[i] = v
	}
	return stat{pid: n[0], parent: n[1], usage: usage{
		cpu: time.Duration(n[2]+n[3]) * tick, rss: int64(n[4]) * int64(os.Getpagesize()),
	}}, nil
}

// Groups of processes.
const (
	groupWindlass = "windlass"
	groupTemporal = "temporal"
	groupTools    = "tool servers"
	groupBench    = "bench"
)

// grouped sums up processes by group. Children of a group's process count as tool servers, unless they are named themselves.
func grouped(all map[int]stat, groups map[int]string) usages {
	out := usages{}
	for pid, s := range all {
		group := groups[pid]
		for up := s.parent; group == "" && up > 1; up = all[up].parent {
			if g := groups[up]; g == groupWindlass || g == groupTools {
				group = groupTools
			}
		}
		if group != "" {
			out[group] = out[group].add(s.usage)
		}
	}
	return out
}
