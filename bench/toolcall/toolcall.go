// Package toolcall measures what Windlass adds to the call of a tool, against the same calls made directly to the tool's server.
package toolcall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what is called.
type Config struct {
	// Direct is the MCP endpoint of the tool's server; Base is the gateway, GRPC the address of the registry.
	Direct, Base, GRPC string
	// Source has the server's tools; Tool is the one to call, which takes an expression.
	Source, Tool string
	// Calls is the number of calls of a row with one caller.
	Calls int
	// Callers lists how many calls run at once, a row each.
	Callers []int
	// CPU returns the processor time that groups of processes have used.
	CPU func() map[string]time.Duration
}

// Row compares a way to the tool with direct calls.
type Row struct {
	// Way is a name of ways. Callers is the number of calls at once.
	Way     string
	Callers int
	// Calls is how many were made each way.
	Calls int
	// Direct and Through describe the calls.
	Direct, Through Times
	// CPU is the processor time by group for a call through Windlass.
	CPU map[string]time.Duration
	// Noise is by which part the rate of calls through Windlass differs between every other block.
	Noise float64
}

// Times are the median and the 99th percentile of calls, and their rate per second.
type Times struct {
	P50, P99 time.Duration
	Rate     float64
}

// Ways to the tool.
const (
	// REST is POST /v1/tools/{name}:invoke, each call with other arguments.
	REST = "REST"
	// Catalogue and OneSource are tools/call at /mcp and at /mcp/{source}.
	Catalogue, OneSource = "/mcp", "/mcp/{source}"
	// CacheHit is InvokeTool of the registry over gRPC, with arguments whose result is in the cache.
	CacheHit = "gRPC, cache hit"
)

// way makes calls; n differs with each.
type way struct {
	name  string
	call  func(ctx context.Context, n int64) error
	close func()
}

// blocks is how often direct calls and those through Windlass alternate, so that a busy machine affects both.
const blocks = 4

// Measure makes all rows.
func Measure(ctx context.Context, cfg Config) (_ []Row, err error) {
	direct, err := newMCP(ctx, "direct", cfg.Direct, cfg.Tool)
	if err != nil {
		return nil, err
	}
	defer direct.close()
	ways, err := open(ctx, cfg)
	defer func() {
		for _, w := range ways {
			w.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	m := &measurement{cfg: cfg, direct: direct}
	var rows []Row
	for _, callers := range cfg.Callers {
		for _, w := range ways {
			row, err := m.row(ctx, w, callers)
			if err != nil {
				return nil, fmt.Errorf("%s, %d at once: %w", w.name, callers, err)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// open opens the ways to the tool. On an error the ways that are open are returned too.
func open(ctx context.Context, cfg Config) ([]way, error) {
	ways := []way{newREST(cfg)}
	for name, at := range map[string][2]string{
		Catalogue: {cfg.Base + "/mcp", cfg.Source + "__" + cfg.Tool}, OneSource: {cfg.Base + "/mcp/" + cfg.Source, cfg.Tool},
	} {
		w, err := newMCP(ctx, name, at[0], at[1])
		if err != nil {
			return ways, err
		}
		ways = append(ways, w)
	}
	slices.SortFunc(ways[1:], func(a, b way) int { return len(a.name) - len(b.name) })
	if cfg.GRPC == "" {
		return ways, nil
	}
	w, err := newRegistry(ctx, cfg)
	if errors.Is(err, errNoCache) {
		return ways, nil
	}
	if err != nil {
		return ways, err
	}
	return append(ways, w), nil
}

type measurement struct {
	cfg    Config
	direct way
	calls  atomic.Int64
}

func (m *measurement) row(ctx context.Context, w way, callers int) (Row, error) {
	n := m.cfg.Calls
	if callers > 1 {
		n *= 4
	}
	for _, w := range []way{m.direct, w} { // opens connections
		if _, err := m.block(ctx, w, callers, 4*callers+20); err != nil {
			return Row{}, err
		}
	}
	row := Row{Way: w.name, Callers: callers, Calls: n, CPU: map[string]time.Duration{}}
	var direct, through samples
	var elapsed [2]time.Duration
	for i := range blocks {
		got, err := m.block(ctx, m.direct, callers, n/blocks)
		if err != nil {
			return Row{}, fmt.Errorf("direct calls: %w", err)
		}
		direct = direct.plus(got)
		before := m.cfg.CPU()
		if got, err = m.block(ctx, w, callers, n/blocks); err != nil {
			return Row{}, err
		}
		through = through.plus(got)
		elapsed[i%len(elapsed)] += got.elapsed
		for group, used := range m.cfg.CPU() {
			row.CPU[group] += used - before[group]
		}
	}
	for group := range row.CPU {
		row.CPU[group] /= time.Duration(len(through.took))
	}
	row.Direct, row.Through = direct.times(), through.times()
	row.Noise = float64(max(elapsed[0], elapsed[1]))/float64(min(elapsed[0], elapsed[1])) - 1
	return row, nil
}

// samples are the durations of calls, and of all together.
type samples struct {
	took    []time.Duration
	elapsed time.Duration
}

func (s samples) plus(o samples) samples {
	return samples{append(s.took, o.took...), s.elapsed + o.elapsed}
}

func (s samples) times() Times {
	slices.Sort(s.took)
	return Times{P50: s.took[len(s.took)/2], P99: s.took[len(s.took)*99/100], Rate: float64(len(s.took)) / s.elapsed.Seconds()}
}

// block makes n calls, callers at a time.
func (m *measurement) block(ctx context.Context, w way, callers, n int) (samples, error) {
	var (
		mu   sync.Mutex
		out  samples
		errs []error
		all  sync.WaitGroup
		left atomic.Int64
	)
	left.Store(int64(n))
	begin := time.Now()
	for range min(callers, n) {
		all.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				start := time.Now()
				err := w.call(ctx, m.calls.Add(1))
				mu.Lock()
				out.took = append(out.took, time.Since(start))
				mu.Unlock()
				if err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	out.elapsed = time.Since(begin)
	return out, errors.Join(append(errs[:min(len(errs), 1)], ctx.Err())...)
}
