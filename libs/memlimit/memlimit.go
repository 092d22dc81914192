// Package memlimit sets Go's soft memory limit and moves it with what the process needs, and returns what only its start needed. A fixed
// limit below the need would have the garbage collector take a processor for itself.
package memlimit

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
)

// Settings that are no sizes.
const (
	// Auto is a limit that follows the need: at least 256 MiB, at most three quarters of the memory of the machine or container.
	Auto = "auto"
	// Off is no limit.
	Off = "off"
)

// least is the smallest automatic limit: on a personal machine Windlass shares memory with other programs.
const least = 256 << 20

// interval is how often an automatic limit follows. Until then the collector works harder, at half of the processors at most.
const interval = 2 * time.Second

// Config configures the limit.
type Config struct {
	Limit string `yaml:"limit" default:"off" doc:"Soft limit of the memory of the process, above which garbage is collected more often. auto: it follows what is in use, with half as much again for garbage, from 256MiB up to three quarters of the memory of the machine or container. off: none. A size such as 2GiB is fixed. GOMEMLIMIT overrides it."`
}

// Start sets the limit, and has an automatic one follow until ctx ends. goMemLimit is the variable GOMEMLIMIT.
func Start(ctx context.Context, cfg Config, goMemLimit string, log *slog.Logger) error {
	if cfg.Limit == Off || goMemLimit != "" && cfg.Limit == Auto {
		return nil
	}
	if cfg.Limit != Auto {
		var size config.Size
		if err := size.UnmarshalText([]byte(cfg.Limit)); err != nil || size <= 0 {
			return fmt.Errorf("memory.limit %q: want auto, off or a size such as 2GiB", cfg.Limit)
		}
		if goMemLimit == "" {
			debug.SetMemoryLimit(int64(size))
		}
		return nil
	}
	most := available() / 4 * 3
	ceiling := most
	if most > 0 {
		ceiling = max(most, least)
	}
	automatic.Store(&ceiling)
	debug.SetMemoryLimit(least)
	go follow(ctx, most, log)
	return nil
}

// automatic is the maximum of an automatic limit, 0 = none; nil if the limit is not automatic.
var automatic atomic.Pointer[int64]

// Most returns how many bytes the process may use: the maximum of an automatic limit, or the fixed one; 0 = any number.
func Most() int64 {
	if most := automatic.Load(); most != nil {
		return *most
	}
	if most := debug.SetMemoryLimit(-1); most < math.MaxInt64 {
		return most
	}
	return 0
}

func follow(ctx context.Context, most int64, log *slog.Logger) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	now := int64(least)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if next := Limit(Read(), most); next != now {
			debug.SetMemoryLimit(next)
			log.DebugContext(ctx, "memory limit changed", "from_bytes", now, "to_bytes", next)
			now = next
		}
	}
}

// Use is what a process uses.
type Use struct {
	// Live are the bytes of the heap that the last collection found in use; Other are those beside the heap, such as stacks.
	Live, Other int64
}

// step is the grain of an automatic limit: small changes are not worth one.
const step = 32 << 20

// Limit returns the automatic limit for a use. most is its maximum, 0 = none.
func Limit(use Use, most int64) int64 {
	want := use.Other + use.Live + use.Live/2
	want = max((want+step-1)/step*step, least)
	if most > 0 {
		want = min(want, max(most, least))
	}
	return want
}

// Read returns what the process uses.
func Read() Use {
	all := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(all)
	value := func(i int) int64 {
		if all[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(all[i].Value.Uint64())
	}
	return Use{Live: value(0), Other: max(value(1)-value(2)-value(3)-value(4)-value(5), 0)}
}
