package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness/netfault"
)

// Topology is what a mesh is made of. The zero value is one process of each role over SQLite files.
type Topology struct {
	// Postgres keeps tables in a PostgreSQL server of the mesh's own.
	Postgres bool
	// Replicas is how many processes each role has, 1 when 0. Several need PostgreSQL.
	Replicas int
	// BusNodes is how many servers the bus has, 1 when 0.
	BusNodes int
	// Proxied leads connections through links that can be broken.
	Proxied bool
}

// Small is one process of each role over SQLite files. Large is what is run in production: PostgreSQL, two processes of each role, a bus of
// three nodes; its links can be broken.
var (
	Small = Topology{}
	Large = Topology{Postgres: true, Replicas: 2, BusNodes: 3, Proxied: true}
)

// calls says to whom each role connects.
var calls = map[string][]string{
	"policy":    {partyDatabase},
	"inference": {"policy", partyDatabase},
	"mcpbridge": {"policy"},
	"registry":  {"policy", "mcpbridge", "sessions", partyDatabase},
	"knowledge": {"policy", partyDatabase, partyTemporal},
	"sessions":  {"policy", "registry", partyDatabase, partyBus, partyTemporal},
	"worker":    {"policy", "registry", "inference", "sessions", partyBus, partyTemporal},
	"gateway":   {"policy", "registry", "inference", "sessions", "knowledge"},
	partyClient: {"gateway"},
}

// Parties of a mesh that are no service role.
const (
	partyClient   = "client"
	partyBus      = "bus"
	partyTemporal = "temporal"
	partyDatabase = "database"
)

// members names the processes of a role.
func (o SplitOptions) members(role string) []string {
	n, always := max(1, o.Topology.Replicas), false
	switch role {
	case "worker":
		n, always = max(n, o.Workers), true
	case partyBus:
		n = max(1, o.Topology.BusNodes)
	case partyTemporal:
		n = 1
	}
	if n == 1 && !always {
		return []string{role}
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", role, i+1))
	}
	return names
}

// Members names the processes of a role: "sessions" alone, or "sessions-1" and "sessions-2".
func (m *Mesh) Members(role string) []string { return m.options.members(role) }

// RoleOf returns the role of a process.
func RoleOf(name string) string {
	role, _, _ := strings.Cut(name, "-")
	return role
}

// number returns which of its role's processes this one is, from 0.
func number(name string) int {
	_, text, several := strings.Cut(name, "-")
	n, err := strconv.Atoi(text)
	if !several || err != nil {
		return 0
	}
	return n - 1
}

// endpoint is where a process serves.
func (m *Mesh) endpoint(name string) string {
	n := number(name)
	switch role := RoleOf(name); role {
	case partyTemporal:
		return m.addr(7233)
	case partyBus:
		return m.addr(4222 + n)
	case "gateway":
		return m.addr(8080 + n)
	case "worker":
		return m.addr(9201 + n)
	default:
		return m.addr(9100 + 10*n + slices.Index(serviceRoles, role))
	}
}

// reached is where a process finds the processes of a role: through its links, or at the endpoints themselves.
func (m *Mesh) reached(from, role string) []string {
	m.t.Helper()
	var out []string
	for _, to := range m.Members(role) {
		out = append(out, m.Through(from, to, m.endpoint(to)))
	}
	return out
}

// Through returns the address at which from reaches to, which serves at addr: that of a link, where the mesh has links.
func (m *Mesh) Through(from, to, addr string) string {
	m.t.Helper()
	if !m.options.Topology.Proxied {
		return addr
	}
	l, err := netfault.Listen(from, to, m.addr(10_000+len(m.links)), addr)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(l.Close)
	m.links = append(m.links, l)
	return l.Addr()
}

// Links returns the links between two parties: processes by name, or all of a role.
func (m *Mesh) Links(from, to string) []*netfault.Link {
	fits := func(name, want string) bool { return name == want || RoleOf(name) == want }
	var out []*netfault.Link
	for _, l := range m.links {
		if fits(l.From, from) && fits(l.To, to) {
			out = append(out, l)
		}
	}
	return out
}

// AllLinks lists every link.
func (m *Mesh) AllLinks() []*netfault.Link { return slices.Clone(m.links) }

// Database is the mesh's PostgreSQL server, nil over SQLite.
func (m *Mesh) Database() *testpg.Server { return m.db }
