package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/bench/hostile"
	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
)

// mesh is a running Windlass with a tool server.
type mesh struct {
	name string
	// url is the gateway's, ui the Temporal UI's. gateways are all if there are several.
	url, ui  string
	gateways []string
	turns    atomic.Int64
	// issuer is the issuer's address if requests carry tokens.
	issuer string
	// grpc is the address of the services, empty for separate processes.
	grpc string
	dir  string
	http *http.Client
	// procs are in start order; groups maps each to its group.
	procs  []*process.Process
	groups map[int]string
	// calculator is the MCP endpoint.
	calculator string
	options    options
	verbose    io.Writer
}

// startMesh starts a deployment on a temporary directory, and an MCP server.
func startMesh(ctx context.Context, name string, o options, modelURL string, verbose io.Writer) (*mesh, error) {
	dir, err := os.MkdirTemp("", "windlass-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	m := &mesh{name: name, dir: dir, http: newHTTP(), groups: map[int]string{}, options: o, verbose: verbose}
	m.groups[os.Getpid()] = process.Bench
	start := map[string]func(context.Context, string) error{
		embeddedMesh: m.startEmbedded, splitMesh: m.startSplit, replicatedMesh: m.startReplicas,
	}[name]
	if err := m.startCalculator(ctx); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	if err := start(ctx, modelURL); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	if err := m.fill(ctx); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	if m.issuer != "" {
		if err := m.identify(ctx, m.issuer); err != nil {
			return nil, errors.Join(err, m.stop())
		}
	}
	return m, nil
}

// gateway returns the address for a turn.
func (m *mesh) gateway() string {
	if len(m.gateways) == 0 {
		return m.url
	}
	return m.gateways[int(m.turns.Add(1))%len(m.gateways)]
}

// start runs one of our programs.
func (m *mesh) start(ctx context.Context, name, group, program string, args ...string) (*process.Process, error) {
	p, err := process.Start(ctx, name, m.verbose, filepath.Join(m.options.bin, program), args...)
	if err != nil {
		return nil, err
	}
	m.procs = append(m.procs, p)
	m.groups[p.PID()] = group
	return p, nil
}

func (m *mesh) startCalculator(ctx context.Context) error {
	p, err := m.start(ctx, "calculator", process.Tools, "examples/calculator", "--http", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.calculator = p.Text("url")
	return nil
}

func (m *mesh) startEmbedded(ctx context.Context, modelURL string) error {
	cfg := map[string]any{"inference": m.inferenceConfig(modelURL)}
	if m.options.policed() {
		cfg["identity"] = identityConfig()
	}
	if m.options.postgres != "" {
		cfg["database"] = map[string]any{"url": m.options.postgres}
	}
	file, err := m.writeConfig(cfg)
	if err != nil {
		return err
	}
	const any0 = "127.0.0.1:0"
	p, err := m.start(ctx, "windlass", process.Windlass, "windlass", "up", "-o", "json", "--config", file,
		"--data-dir", filepath.Join(m.dir, "data"), "--http-addr", any0, "--grpc-addr", any0, "--temporal-addr", any0, "--temporal-ui-addr", any0,
		"--issuer-addr", any0)
	if err != nil {
		return err
	}
	m.url, m.ui, m.grpc = p.Text("url"), p.Text("temporal_ui"), p.Text("grpc")
	if m.options.policed() {
		m.issuer = p.Text("issuer")
	}
	if pid := p.Number("temporal_pid"); pid > 0 {
		m.groups[pid] = process.Temporal
	}
	return nil
}

func (m *mesh) inferenceConfig(modelURL string) map[string]any {
	provider := func(name, url string, models []string) map[string]any {
		return map[string]any{"name": name, "kind": "openai", "base_url": url, "api_key": "unused", "models": models}
	}
	providers := []any{provider("bench", modelURL, []string{model.Instant, model.Paced})}
	if m.options.foe != "" {
		providers = append(providers, provider("foe", m.options.foe+"/v1", slices.Sorted(maps.Keys(hostile.Streams()))))
	}
	return map[string]any{"detect": false, "default_model": "bench/" + model.Instant, "providers": providers}
}

// writeConfig writes a configuration file: JSON, which is YAML too.
func (m *mesh) writeConfig(cfg map[string]any) (string, error) {
	raw, err := json.MarshalIndent(cfg, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the configuration: %w", err)
	}
	file := filepath.Join(m.dir, fmt.Sprintf("windlass-%d.yaml", len(m.procs)))
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return file, nil
}

// fill adds the tool server and an agent for each model.
func (m *mesh) fill(ctx context.Context) error {
	source := map[string]any{"name": "calc", "kind": "mcp", "url": m.calculator}
	if m.options.effect != "" {
		source["effects"] = map[string]any{"evaluate": m.options.effect}
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/sources", source, &made); err != nil {
		return err
	}
	if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/sources/"+made.ID+":sync", map[string]any{}, nil); err != nil {
		return err
	}
	if m.options.policed() || m.options.secured && !m.options.open {
		if err := m.policies(ctx); err != nil {
			return err
		}
	}
	for _, name := range []string{model.Instant, model.Paced} {
		agent := map[string]any{
			"id": name, "model": "bench/" + name, "tools": []string{model.Tool},
			"instructions": "You are a helpful assistant. Use the calculator for arithmetic, and answer briefly.",
		}
		if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/agents", agent, nil); err != nil {
			return err
		}
	}
	return nil
}

// usage measures all processes.
func (m *mesh) usage() process.Usages { return process.Group(process.All("/proc"), m.groups) }

// settle waits until the mesh is idle: until its CPU time in a quarter of a second is close to idle, for at most a few seconds. Some work
// is done after clients have their answers.
func (m *mesh) settle(ctx context.Context, idle float64) error {
	_, err := m.rested(ctx, idle)
	return err
}

// rested is settle, and returns since when the mesh has been idle.
func (m *mesh) rested(ctx context.Context, idle float64) (time.Time, error) {
	const window = 250 * time.Millisecond
	t := time.NewTicker(window)
	defer t.Stop()
	before := m.usage()
	for range 40 {
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-t.C:
		}
		now := m.usage()
		used := now.Since(before)
		if cores := (used[process.Windlass].CPU + used[process.Temporal].CPU).Seconds() / window.Seconds(); cores < idle+0.1 {
			return time.Now().Add(-window), nil
		}
		before = now
	}
	return time.Now(), nil
}

// history returns the size of a turn's workflow history, from the API behind Temporal's UI.
func (m *mesh) history(ctx context.Context, turn string) (bytes, events int64, err error) {
	var got struct {
		Info struct {
			Bytes  string `json:"historySizeBytes"`
			Events string `json:"historyLength"`
		} `json:"workflowExecutionInfo"`
	}
	if err := call(ctx, m.http, http.MethodGet, m.ui+"/api/v1/namespaces/default/workflows/"+turn, nil, &got); err != nil {
		return 0, 0, err
	}
	if bytes, err = strconv.ParseInt(got.Info.Bytes, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("history size: %w", err)
	}
	if events, err = strconv.ParseInt(got.Info.Events, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("history length: %w", err)
	}
	return bytes, events, nil
}

// stop stops everything in reverse order and removes what it wrote.
func (m *mesh) stop() error {
	var errs []error
	m.http.CloseIdleConnections()
	for len(m.procs) > 0 {
		last := m.procs[len(m.procs)-1]
		m.procs = m.procs[:len(m.procs)-1]
		errs = append(errs, last.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(m.dir))...)
}
