package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/bench/process"
	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/secret"
)

// services lists the roles of a split mesh that others call, in start order.
func services() []string {
	return []string{"policy", "inference", "mcpbridge", "registry", "knowledge", "sessions"}
}

// startSplit starts each role as its own process over TCP, and the Temporal dev server.
func (m *mesh) startSplit(ctx context.Context, modelURL string) error {
	roles := append(services(), "worker", "gateway")
	free, err := freeAddresses(len(roles) + 5)
	if err != nil {
		return err
	}
	listen := map[string]string{}
	for i, r := range roles {
		listen[r] = free[i]
	}
	free = free[len(roles):]
	at := addresses{bus: free[0], temporal: free[1], ui: free[2]}
	served := free[3]
	cfg := m.daemonConfig(modelURL, at)
	m.listenOn(cfg, listen, listen, free[4])
	m.url = "http://" + free[4]
	var trust []string
	switch {
	case m.options.open:
		m.unsecure(cfg)
	case m.options.secured: // not in comparisons with other builds, whose programs may have no such flags
		if trust, err = m.secureTemporal(cfg, at.ui, served); err != nil {
			return err
		}
	}
	file, err := m.writeConfig(cfg)
	if err != nil {
		return err
	}
	if err := m.startTemporal(ctx, at.temporal, at.ui, trust...); err != nil {
		return err
	}
	for _, r := range append([]string{"bus"}, roles...) {
		if _, err := m.start(ctx, r, process.Windlass, "windlassd", r, "--config", file); err != nil {
			return err
		}
	}
	return nil
}

// startReplicas starts processes that have all roles each, the bus, and the Temporal dev server.
func (m *mesh) startReplicas(ctx context.Context, modelURL string) error {
	roles := append(services(), "worker", "gateway")
	free, err := freeAddresses(3 + m.options.replicas*(len(roles)+1))
	if err != nil {
		return err
	}
	at := addresses{bus: free[0], temporal: free[1], ui: free[2]}
	free = free[3:]
	listen, targets := make([]map[string]string, m.options.replicas), map[string]string{}
	for i := range listen {
		listen[i] = map[string]string{}
		for k, r := range roles {
			listen[i][r] = free[i*len(roles)+k]
			targets[r] = strings.TrimPrefix(targets[r]+","+listen[i][r], ",")
		}
	}
	free = free[len(listen)*len(roles):]
	if err := m.startTemporal(ctx, at.temporal, at.ui); err != nil {
		return err
	}
	for i := range listen {
		cfg := m.daemonConfig(modelURL, at)
		m.listenOn(cfg, listen[i], targets, free[i])
		file, err := m.writeConfig(cfg)
		if err != nil {
			return err
		}
		if i == 0 {
			if _, err := m.start(ctx, "bus", process.Windlass, "windlassd", "bus", "--config", file); err != nil {
				return err
			}
		}
		args := slices.Concat(roles, []string{"--config", file})
		if _, err := m.start(ctx, fmt.Sprintf("replica %d", i+1), process.Windlass, "windlassd", args...); err != nil {
			return err
		}
		m.gateways = append(m.gateways, "http://"+free[i])
	}
	m.url = m.gateways[0]
	return nil
}

// addresses are those of what the processes of a mesh share.
type addresses struct{ bus, temporal, ui string }

// daemonConfig returns the configuration of windlassd but for where its roles listen.
func (m *mesh) daemonConfig(modelURL string, at addresses) map[string]any {
	database := "sqlite:" + m.dir
	if m.options.postgres != "" {
		database = m.options.postgres
	}
	m.ui = "http://" + at.ui
	return map[string]any{
		"mesh":      map[string]any{"key": "a-key-for-benchmarks-that-is-long-enough-01234"},
		"database":  map[string]any{"url": database},
		"bus":       map[string]any{"url": "nats://" + at.bus, "listen": at.bus, "dir": filepath.Join(m.dir, "bus")},
		"temporal":  map[string]any{"address": at.temporal, "ui": "http://" + at.ui},
		"identity":  map[string]any{"loopback": "local"},
		"inference": m.inferenceConfig(modelURL),
		"telemetry": map[string]any{"log_level": "warn"}, // as windlass up
	}
}

// listenOn sets where the roles of a process listen, and where all roles are.
func (*mesh) listenOn(cfg map[string]any, listen, targets map[string]string, web string) {
	mesh, _ := cfg["mesh"].(map[string]any)
	mesh["listen"], mesh["targets"] = listen, targets
	cfg["gateway"] = map[string]any{"addr": web}
}

// unsecure has processes call each other in clear text, and store payloads in Temporal in clear.
func (*mesh) unsecure(cfg map[string]any) {
	for section, values := range map[string]map[string]any{
		"mesh": {"tls": map[string]any{"mode": "accept"}}, "temporal": {"encrypt": false},
	} {
		in, _ := cfg[section].(map[string]any)
		maps.Copy(in, values)
	}
}

// policies adds access policies as a mesh has that is in use. One of them is for the caller, the others are for other people.
func (m *mesh) policies(ctx context.Context) error {
	for i := range 20 {
		p := map[string]any{
			"name": fmt.Sprintf("department-%d", i), "effect": "allow", "tools": []string{model.Tool}, "permissions": []string{"sessions.*"},
			"matchers": []any{map[string]any{"path": "department", "operator": "equals", "values": []string{fmt.Sprintf("d%d", i)}}},
		}
		if i == 0 {
			p["matchers"] = []any{map[string]any{"path": "$subject", "operator": "matches", "values": []string{".*"}}}
		}
		if err := call(ctx, m.http, http.MethodPost, m.url+"/v1/access-policies", p, nil); err != nil {
			return err
		}
	}
	return nil
}

// secureTemporal has Temporal and its clients show certificates, and the gateway serve the UI. It returns the flags of the server.
func (m *mesh) secureTemporal(cfg map[string]any, ui, served string) ([]string, error) {
	key, _ := cfg["mesh"].(map[string]any)["key"].(string)
	files, err := devserver.Issue(filepath.Join(m.dir, "temporal"), secret.New(key))
	if err != nil {
		return nil, err
	}
	m.ui = "http://" + served
	section, _ := cfg["temporal"].(map[string]any)
	maps.Copy(section, map[string]any{
		"ui": m.ui, "ui_proxy": map[string]any{"addr": served, "target": "https://" + ui},
		"tls": map[string]any{"ca": files.CA, "cert": files.Client, "key": files.Client, "server_name": devserver.ServerName},
	})
	return []string{
		"--tls-cert", files.Server, "--tls-key", files.Server, "--tls-ca", files.CA, "--tls-server-name", devserver.ServerName,
	}, nil
}

func (m *mesh) startTemporal(ctx context.Context, addr, ui string, flags ...string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("temporal's address: %w", err)
	}
	uiHost, uiPort, err := net.SplitHostPort(ui)
	if err != nil {
		return fmt.Errorf("temporal UI's address: %w", err)
	}
	_, err = m.start(ctx, "temporal", process.Temporal, "windlass-temporal", append([]string{
		"--ip", host, "--port", port, "--ui-ip", uiHost, "--ui-port", uiPort, "--db-filename", filepath.Join(m.dir, "temporal.db"),
	}, flags...)...)
	return err
}

// freeAddresses finds unused ports.
func freeAddresses(n int) ([]string, error) {
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() //nolint:revive // held until all are found, so that no port comes twice
		out = append(out, l.Addr().String())
	}
	return out, nil
}
