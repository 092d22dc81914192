package harness

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// configure writes the configuration of each process, and that of other callers of the mesh.
func (m *Mesh) configure() {
	m.t.Helper()
	m.config = m.write("windlass", "")
	m.configs = map[string]string{}
	for _, to := range m.Members("gateway") {
		m.clients = append(m.clients, m.Through(partyClient, to, m.endpoint(to)))
	}
}

// configOf returns a process's file of configuration.
func (m *Mesh) configOf(name string) string {
	m.t.Helper()
	if m.configs[name] == "" {
		m.configs[name] = m.write(name, name)
	}
	return m.configs[name]
}

// write writes the configuration of a process; that of no process finds everything without links.
func (m *Mesh) write(file, name string) string {
	m.t.Helper()
	cfg := m.plain()
	if name != "" {
		m.adapt(cfg, name)
	}
	for section, values := range m.options.Config {
		old, _ := cfg[section].(JSON)
		if add, ok := values.(JSON); ok && old != nil {
			maps.Copy(old, add)
			continue
		}
		cfg[section] = values
	}
	raw, err := yaml.Marshal(map[string]any(cfg))
	if err != nil {
		m.t.Fatal(err)
	}
	path := filepath.Join(m.dir, file+".yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// plain is a configuration that fits the first process of each role.
func (m *Mesh) plain() JSON {
	listen, targets := JSON{}, JSON{}
	for _, r := range append([]string{"gateway"}, serviceRoles...) {
		listen[r], targets[r] = m.endpoint(r), m.endpoints(r)
	}
	listen["gateway"] = m.addr(9105)
	cfg := JSON{
		"mesh":     JSON{"key": meshKey, "listen": listen, "targets": targets},
		"database": JSON{"url": "sqlite:" + m.dir},
		"bus": JSON{
			"url": busURL(strings.Split(m.endpoints(partyBus), ",")), "listen": m.endpoint(partyBus),
			"dir": filepath.Join(m.dir, "bus"), "replicas": len(m.Members(partyBus)),
		},
		"temporal": JSON{
			"address": m.endpoint(partyTemporal), "tls": m.temporalTLS(), "ui": "http://" + m.addr(8234), "ui_proxy": m.uiProxy(0),
		},
		"gateway":  JSON{"addr": m.endpoint("gateway")},
		"identity": JSON{"token_file": m.TokenFile()},
	}
	if m.db != nil {
		cfg["database"] = JSON{"url": m.db.URL()}
	}
	if m.options.Model != nil {
		cfg["inference"] = JSON{"default_model": "test/model", "providers": []any{
			JSON{"name": "test", "kind": "openai", "base_url": m.options.Model.URL(), "api_key": "unused", "models": []string{"model"}},
		}}
	}
	return cfg
}

// adapt makes a configuration that of one process: where it listens, and its own way to each of those it calls.
func (m *Mesh) adapt(cfg JSON, name string) {
	m.t.Helper()
	role := RoleOf(name)
	section := func(name string) JSON { return cfg[name].(JSON) }
	section("mesh")["listen"].(JSON)[role] = m.endpoint(name)
	switch role {
	case "gateway":
		section("gateway")["addr"] = m.endpoint(name)
		section("temporal")["ui_proxy"] = m.uiProxy(number(name))
		section("mesh")["listen"].(JSON)[role] = m.addr(9105 + 10*number(name))
	case "worker":
		cfg["worker"] = JSON{"id": name}
	case partyBus:
		m.adaptBus(section("bus"), name)
	}
	for _, callee := range calls[role] {
		switch callee {
		case partyDatabase:
			if m.db != nil {
				cfg["database"] = JSON{"url": m.throughURL(name, partyDatabase, m.db.URL())}
			}
		case partyBus:
			section("bus")["url"] = busURL(m.reached(name, partyBus))
		case partyTemporal:
			section("temporal")["address"] = m.reached(name, partyTemporal)[0]
		default:
			section("mesh")["targets"].(JSON)[callee] = strings.Join(m.reached(name, callee), ",")
		}
	}
	if provider, ok := cfg["inference"].(JSON); ok && role == "inference" {
		provider["providers"].([]any)[0].(JSON)["base_url"] = m.throughURL(name, "model",
			m.options.Model.URL())
	}
}

// adaptBus makes a server of the bus a node of its cluster, where there are several. All streams are on all of them.
func (m *Mesh) adaptBus(section JSON, name string) {
	nodes := m.Members(partyBus)
	section["listen"], section["dir"] = m.endpoint(name), filepath.Join(m.dir, name)
	if len(nodes) == 1 {
		return
	}
	var routes []string
	for _, other := range nodes {
		routes = append(routes, m.addr(6222+number(other)))
	}
	section["cluster"] = JSON{"node": name, "listen": m.addr(6222 + number(name)), "routes": routes}
}

// throughURL is Through for a URL.
func (m *Mesh) throughURL(from, to, raw string) string {
	m.t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		m.t.Fatal(err)
	}
	u.Host = m.Through(from, to, u.Host)
	return u.String()
}

// endpoints lists where a role's processes serve, without links.
func (m *Mesh) endpoints(role string) string {
	var out []string
	for _, name := range m.Members(role) {
		out = append(out, m.endpoint(name))
	}
	return strings.Join(out, ",")
}

func busURL(addrs []string) string { return fmt.Sprintf("nats://%s", strings.Join(addrs, ",nats://")) }

// network is how tests reach a role's processes, without links.
func (m *Mesh) network(role string) rpc.TCP {
	m.t.Helper()
	return Network(m.t, meshKey, map[string]string{role: m.endpoints(role)})
}

// Endpoint is where a process serves.
func (m *Mesh) Endpoint(name string) string { return m.endpoint(name) }

// Keyring signs mesh tokens that the mesh accepts.
func (m *Mesh) Keyring() *authn.Keyring {
	m.t.Helper()
	ring, err := authn.NewKeyring([]byte(meshKey))
	if err != nil {
		m.t.Fatal(err)
	}
	return ring
}

// Network connects a test to the processes of a mesh as a process that has all roles.
func Network(t testing.TB, key string, targets map[string]string) rpc.TCP {
	t.Helper()
	source, err := meshtls.FromKey([]byte(key), assembly.AllRoles()...)
	if err != nil {
		t.Fatal(err)
	}
	return rpc.TCP{Targets: targets, TLS: source}
}
