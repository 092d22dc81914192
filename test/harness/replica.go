package harness

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// Replica starts one more process of a service role, waits until it is ready, and returns a connection to it that calls as a worker. No
// other process calls it. The mesh's database must be one that processes share.
func (m *Mesh) Replica(role string) rpc.Conn {
	m.t.Helper()
	name, addr := role+" again", m.addr(9300+slices.Index(serviceRoles, role))
	env := append(slices.Clone(m.env), "WINDLASS_MESH_LISTEN_"+strings.ToUpper(role)+"="+addr)
	p := Launch(m.t, name, env, m.daemon(), role, "--config", m.config)
	m.procs[name] = p
	p.Await()
	ring, err := authn.NewKeyring([]byte(meshKey))
	if err != nil {
		m.t.Fatal(err)
	}
	as := authn.Service("worker")
	as.Tenant = authn.DefaultTenant
	conn, err := rpc.Dial(Network(m.t, meshKey, map[string]string{role: addr}), role, rpc.ClientConfig{Keyring: ring, As: as})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	return conn
}
