package process

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

// Usage is what a group of processes has used and holds.
type Usage struct {
	// CPU is its processor time, RSS its resident memory in bytes.
	CPU time.Duration
	RSS int64
}

// Add returns the sum of two usages.
func (u Usage) Add(o Usage) Usage { return Usage{CPU: u.CPU + o.CPU, RSS: u.RSS + o.RSS} }

// Usages maps groups ("windlass", "temporal", …) to what they use.
type Usages map[string]Usage

// Since returns the CPU time used since an earlier measurement; the memory is the present one.
func (u Usages) Since(before Usages) Usages {
	out := maps.Clone(u)
	for group, now := range u {
		now.CPU -= before[group].CPU
		out[group] = now
	}
	return out
}

// Stat is a process in /proc.
type Stat struct {
	// PID and Parent are process ids.
	PID, Parent int
	// Usage is what it has used and holds.
	Usage Usage
}

// All reads /proc; it returns none on a system without it.
func All(root string) map[int]Stat {
	out := map[int]Stat{}
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
			out[s.PID] = s
		}
	}
	return out
}

// parseStat parses a line of proc(5). The second field is the program's name in parentheses and may contain anything.
func parseStat(line string) (Stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("unreadable process status %q", line)
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 22 {
		return Stat{}, fmt.Errorf("short process status %q", line)
	}
	var n [5]int
	for i, text := range []string{strings.TrimSpace(line[:open]), fields[1], fields[11], fields[12], fields[21]} {
		v, err := strconv.Atoi(text)
		if err != nil {
			return Stat{}, fmt.Errorf("process status %q: %w", line, err)
		}
		n[i] = v
	}
	return Stat{PID: n[0], Parent: n[1], Usage: Usage{
		CPU: time.Duration(n[2]+n[3]) * tick, RSS: int64(n[4]) * int64(os.Getpagesize()),
	}}, nil
}

// Groups of processes.
const (
	Windlass = "windlass"
	Temporal = "temporal"
	Tools    = "tool servers"
	Bench    = "bench"
)

// Group sums up processes by group. Children of a group's process count as tool servers, unless they are named themselves.
func Group(all map[int]Stat, groups map[int]string) Usages {
	out := Usages{}
	for pid, s := range all {
		group := groups[pid]
		for up := s.Parent; group == "" && up > 1; up = all[up].Parent {
			if g := groups[up]; g == Windlass || g == Tools {
				group = Tools
			}
		}
		if group != "" {
			out[group] = out[group].Add(s.Usage)
		}
	}
	return out
}
