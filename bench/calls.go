package main

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/bench/process"
	"github.com/windlass-dev/windlass/bench/toolcall"
)

// Goals for a tool call: one at a time, and 64 at once.
const (
	reachREST      = time.Millisecond
	reachMCP       = 500 * time.Microsecond
	reachCacheHit  = 500 * time.Microsecond
	reachBridge    = 800 * time.Microsecond
	reachCallsRate = 0.3
)

// bridge is the name of the process with the MCP server and client, if it has one of its own.
const bridge = "mcpbridge"

// toolCalls measures calls of a tool without turns.
func (b *bench) toolCalls(ctx context.Context, m *mesh, d *deployment) error {
	if b.options.toolCalls == 0 {
		return nil
	}
	if err := m.settle(ctx, d.idleCores); err != nil {
		return err
	}
	b.say("%s: tool calls", d.name)
	var err error
	d.calls, err = toolcall.Measure(ctx, toolcall.Config{
		Direct: m.calculator, Base: m.url, GRPC: m.grpc, Source: "calc", Tool: "evaluate", Calls: b.options.toolCalls,
		Callers: []int{1, reachAt}, CPU: m.cpu,
	})
	if err != nil {
		return fmt.Errorf("tool calls: %w", err)
	}
	return nil
}

// cpu returns the processor time of Windlass, and of each of its processes if there are several.
func (m *mesh) cpu() map[string]time.Duration {
	out, all := map[string]time.Duration{}, process.All("/proc")
	for _, p := range m.procs {
		if m.groups[p.PID()] != process.Windlass {
			continue
		}
		used := all[p.PID()].Usage.CPU
		out[process.Windlass] += used
		if p.Name != process.Windlass {
			out[p.Name] += used
		}
	}
	return out
}

// callReaches compares tool calls with the goals.
func (d *deployment) callReaches() []reach {
	var out []reach
	add := func(what string, want, got time.Duration) {
		out = append(out, reach{what, "≤ " + micros(want), micros(got), float64(got) / float64(want), 10})
	}
	for _, r := range d.calls {
		added := r.Through.P50 - r.Direct.P50
		switch {
		case r.Way == toolcall.REST && r.Callers == 1:
			add("added time of a tool call over REST, p50", reachREST, added)
		case r.Way == toolcall.REST:
			of := r.Through.Rate / r.Direct.Rate
			out = append(out, reach{
				fmt.Sprintf("rate of tool calls over REST, %d at once, of direct calls", r.Callers), fmt.Sprintf("≥ %.1f", reachCallsRate),
				fmt.Sprintf("%.2f", of), reachCallsRate / of, 6,
			})
		case r.Way == toolcall.CacheHit && r.Callers == 1:
			add("tool call that the cache answers, at the registry, p50", reachCacheHit, r.Through.P50)
		case r.Way == toolcall.Catalogue && r.Callers == 1:
			add("added time of a tool call at /mcp, p50", reachMCP, added)
		}
		if used, ok := r.CPU[bridge]; ok && r.Way == toolcall.REST && r.Callers > 1 {
			add("processor time of the bridge for a tool call", reachBridge, used)
		}
	}
	return out
}

func (d *deployment) callSections() []section {
	if len(d.calls) == 0 {
		return nil
	}
	return []section{{
		"Tool calls", "Calls of the calculator without a turn. Direct: by an MCP client in a session at the tool server. Windlass: by the same " +
			"client at `/mcp` and `/mcp/calc`; by `POST /v1/tools/{name}:invoke`; and of the registry over gRPC, answered from its cache. " +
			"CPU: processor time per call.", d.callTable(),
	}}
}

func (d *deployment) callTable() *table {
	t := &table{head: []string{
		"way, at once", "calls", "direct p50", "p99", "windlass p50", "p99", "added p50", "direct calls/s", "calls/s", "of direct",
		"CPU of windlass", "CPU of the bridge",
	}}
	for _, r := range d.calls {
		ofBridge := "-"
		if used, ok := r.CPU[bridge]; ok {
			ofBridge = micros(used)
		}
		t.add(fmt.Sprintf("%s, %d", r.Way, r.Callers), fmt.Sprint(r.Calls), micros(r.Direct.P50), micros(r.Direct.P99), micros(r.Through.P50),
			micros(r.Through.P99), micros(r.Through.P50-r.Direct.P50), fmt.Sprintf("%.0f", r.Direct.Rate), fmt.Sprintf("%.0f", r.Through.Rate),
			fmt.Sprintf("%.2f", r.Through.Rate/r.Direct.Rate), micros(r.CPU[process.Windlass]), ofBridge)
	}
	return t
}

// micros writes a duration below some milliseconds.
func micros(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
