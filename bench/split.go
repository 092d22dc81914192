package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/secret"
)

// services lists the roles of a split mesh that others call, in start order.
func services() []string { return []string{"policy", "inference", "mcpbridge", "registry", "sessions"} }

// startSplit starts each role as its own process over TCP, and the Temporal dev server.
func (m *mesh) startSplit(ctx context.Context, modelURL string) error {
	roles := append(services(), "worker", "gateway")
	free, err := freeAddresses(len(roles) + 5)
	if err != nil {
		return err
	}
	take := func() string { a := free[0]; free = free[1:]; return a }
	listen := map[string]string{}
	for _, r := range roles {
		listen[r] = take()
	}
	busAddr, web, temporal, ui, served := take(), take(), take(), take(), take()
	database := "sqlite:" + m.dir
	if m.options.postgres != "" {
		database = m.options.postgres
	}
	cfg := map[string]any{
		"mesh":      map[string]any{"key": "a-key-for-benchmarks-that-is-long-enough-01234", "listen": listen, "targets": listen},
		"database":  map[string]any{"url": database},
		"bus":       map[string]any{"url": "nats://" + busAddr, "listen": busAddr, "dir": filepath.Join(m.dir, "bus")},
		"temporal":  map[string]any{"address": temporal, "ui": "http://" + ui},
		"gateway":   map[string]any{"addr": web},
		"identity":  map[string]any{"loopback": "local"},
		"inference": m.inferenceConfig(modelURL),
		"telemetry": map[string]any{"log_level": "warn"}, // as windlass up
	}
	m.url, m.ui = "http://"+web, "http://"+ui
	var trust []string
	switch {
	case m.options.open:
		m.unsecure(cfg)
	case m.options.secured: // not in comparisons with other builds, whose programs may have no such flags
		if trust, err = m.secureTemporal(cfg, ui, served); err != nil {
			return err
		}
	}
	file, err := m.writeConfig(cfg)
	if err != nil {
		return err
	}
	if err := m.startTemporal(ctx, temporal, ui, trust...); err != nil {
		return err
	}
	for _, r := range append([]string{"bus"}, roles...) {
		if _, err := m.start(ctx, r, groupWindlass, "windlassd", r, "--config", file); err != nil {
			return err
		}
	}
	return nil
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
			"name": fmt.Sprintf("department-%d", i), "effect": "allow", "tools": []string{toolName}, "permissions": []string{"sessions.*"},
			"matchers": []any{map[string]any{"path": "department", "operator": "equals", "values": []string{fmt.Sprintf("d%d", i)}}},
		}
		if i == 0 {
			p["matchers"] = []any{map[string]any{"path": "department", "operator": "not_equals", "values": []string{"d0"}}}
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
	_, err = m.start(ctx, "temporal", groupTemporal, "windlass-temporal", append([]string{
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
