package harness

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/testpg"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/test/harness/netfault"
)

// meshKey is the secret of the meshes under test.
const meshKey = "a-key-for-tests-that-is-long-enough-0123456789"

// serviceRoles are the roles that answer gRPC calls.
var serviceRoles = []string{"policy", "inference", "mcpbridge", "registry", "knowledge", "sessions"}

// Mesh is a mesh of separate processes, one per role, over TCP.
type Mesh struct {
	t      testing.TB
	dir    string
	ip     string
	config string
	env    []string
	// workerEnv is added for workers, by name.
	workerEnv map[string][]string
	procs     map[string]*Process
	// faults is the folder in which points are armed, "" for programs without points.
	faults  string
	options SplitOptions
	// links are the connections that can be broken, clients the addresses at which clients find the gateways.
	links   []*netfault.Link
	clients []string
	db      *testpg.Server
	// configs are the processes' files of configuration.
	configs map[string]string
	// Client speaks to the gateway.
	Client *Client
}

// SplitOptions configure a mesh.
type SplitOptions struct {
	// Topology is what it is made of.
	Topology Topology
	// Model, when set, is the default model's server.
	Model *Model
	// Workers is how many workers run, 1 when 0.
	Workers int
	// Config is merged over the configuration, section by section.
	Config JSON
	// Env is added to each process's environment, WorkerEnv to that of one worker, by its name "worker-N".
	Env       []string
	WorkerEnv map[string][]string
	// Faults runs programs whose fault points can be armed.
	Faults bool
	// Absent names processes that are not started with the others.
	Absent []string
	// Plain runs programs without the race detector, whose memory can be held to a bound.
	Plain bool
}

// Split starts a mesh and waits until it is ready. Addresses are on a loopback address of the mesh's own, so that a role that is killed
// and started again finds its port free.
func Split(t testing.TB, o SplitOptions) *Mesh {
	t.Helper()
	m := &Mesh{
		t: t, dir: t.TempDir(), env: o.Env, workerEnv: o.WorkerEnv, procs: map[string]*Process{}, options: o,
		ip: fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250)),
	}
	if o.Topology.Postgres {
		m.db = testpg.Own(t)
	}
	m.issueCertificates()
	m.configure()
	if o.Faults {
		m.allowFaults()
	}
	var all []string
	for _, role := range append([]string{partyTemporal, partyBus, "gateway", "worker"}, serviceRoles...) {
		all = append(all, m.Members(role)...)
	}
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(o.Absent, name) })
	for _, name := range all { // in any order: each waits for what it needs
		m.Launch(name)
	}
	for _, name := range all {
		m.await(name)
	}
	m.Client = m.NewClient(t)
	return m
}

// await waits for a process. Temporal gives up when it has not started within 15 s, and is started again, as a supervisor would: this
// machine may be busy with other tests.
func (m *Mesh) await(name string) {
	m.t.Helper()
	for attempt := 1; name == partyTemporal && attempt < 4 && !m.procs[name].settled(); attempt++ {
		m.t.Logf("Temporal did not start at attempt %d", attempt)
		m.Launch(name)
	}
	m.procs[name].Await()
}

func (m *Mesh) addr(port int) string { return fmt.Sprintf("%s:%d", m.ip, port) }

// NewClient makes a client of the mesh's gateways; it goes on with another one when one is away.
func (m *Mesh) NewClient(t testing.TB) *Client {
	return NewClient(t, "http://"+m.endpoint(m.Members("gateway")[0]), m.clients...).withToken(m.TokenFile())
}

// ClientOf makes a client of one of the mesh's gateways: a name of Members.
func (m *Mesh) ClientOf(gateway string) *Client {
	return NewClient(m.t, "http://"+m.endpoint(gateway)).withToken(m.TokenFile())
}

// TokenFile is the file with the token of the local user, which no process of the mesh recognizes by its connection.
func (m *Mesh) TokenFile() string { return filepath.Join(m.dir, "access.token") }

// Start starts a role and waits until it is ready: a name of Members.
func (m *Mesh) Start(name string) *Process {
	m.t.Helper()
	m.Launch(name)
	m.await(name)
	return m.procs[name]
}

// Launch is Start without the wait.
func (m *Mesh) Launch(name string) *Process {
	m.t.Helper()
	var p *Process
	if name == partyTemporal {
		files := m.certificates()
		p = Launch(m.t, name, nil, Bin(m.t, "windlass-temporal"), "--ip", m.ip, "--port", "7233", "--ui-ip", m.ip, "--ui-port", "8233",
			"--db-filename", filepath.Join(m.dir, "temporal.db"),
			"--tls-cert", files.Server, "--tls-key", files.Server, "--tls-ca", files.CA, "--tls-server-name", devserver.ServerName)
	} else {
		env := append(slices.Clone(m.env), m.workerEnv[name]...)
		p = Launch(m.t, name, env, m.daemon(), RoleOf(name), "--config", m.configOf(name))
	}
	m.procs[name] = p
	return p
}

// Kill kills a role with SIGKILL and waits until it is gone.
func (m *Mesh) Kill(name string) { m.t.Helper(); m.procs[name].Kill() }

// Restart kills a role and starts it again.
func (m *Mesh) Restart(name string) { m.t.Helper(); m.Kill(name); m.Start(name) }

// ConfigFile is the configuration that all roles were started with.
func (m *Mesh) ConfigFile() string { return m.config }

// Process returns a role's process.
func (m *Mesh) Process(name string) *Process { return m.procs[name] }

// Dir returns the directory of the mesh's files: configurations, the bus's streams and the databases that are files.
func (m *Mesh) Dir() string { return m.dir }

// Names lists the processes there are, by name.
func (m *Mesh) Names() []string { return slices.Sorted(maps.Keys(m.procs)) }

// Embedded is a running `windlass up`.
type Embedded struct {
	*Process
	// Client speaks to it.
	Client *Client
	// DataDir is its state.
	DataDir string
}

// Up starts `windlass up` on a data directory, all ports picked.
func Up(t testing.TB, dataDir string, env []string, args ...string) *Embedded {
	t.Helper()
	p := LaunchUp(t, dataDir, env, args...)
	p.Await()
	url, _ := p.Ready["url"].(string)
	return &Embedded{Process: p, Client: NewClient(t, url), DataDir: dataDir}
}

// LaunchUp is Up without the wait: for starts that must fail.
func LaunchUp(t testing.TB, dataDir string, env []string, args ...string) *Process {
	t.Helper()
	return launchUp(t, dataDir, env, Bin(t, "windlass"), args...)
}

// LaunchFaultyUp is LaunchUp with a program whose fault points are armed by the environment.
func LaunchFaultyUp(t testing.TB, dataDir string, env []string, args ...string) *Process {
	t.Helper()
	return launchUp(t, dataDir, env, FaultsBin(t, "windlass"), args...)
}

func launchUp(t testing.TB, dataDir string, env []string, program string, args ...string) *Process {
	t.Helper()
	return Launch(t, "windlass up", env, program, append(upArgs(dataDir), args...)...)
}

func upArgs(dataDir string) []string {
	return []string{
		"up", "-o", "json", "--data-dir", dataDir, "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0",
		"--temporal-addr", "127.0.0.1:0", "--temporal-ui-addr", "127.0.0.1:0", "--issuer-addr", "127.0.0.1:0",
	}
}

// UI speaks to the Temporal UI of a running windlass up.
func (e *Embedded) UI() *Client {
	url, _ := e.Ready["temporal_ui"].(string)
	file, _ := e.Ready["token_file"].(string)
	return NewClient(e.t, url).withToken(file)
}

// UI speaks to the mesh's Temporal UI itself, as a gateway does.
func (m *Mesh) UI() *Client {
	m.t.Helper()
	c := NewClient(m.t, "https://"+m.addr(8233))
	c.HTTP.Transport.(*http.Transport).TLSClientConfig = temporalTLS(m.t, m.certificates())
	return c
}

// Holder returns the worker that holds a step of a turn now, according to the journal.
func (m *Mesh) Holder(turn string) string {
	m.t.Helper()
	owner, held := m.TryHolder(turn)
	if !held {
		m.t.Fatalf("nobody holds a step of turn %s", turn)
	}
	return owner
}

// TryHolder is Holder for turns whose steps may be unowned.
func (m *Mesh) TryHolder(turn string) (owner string, held bool) {
	m.t.Helper()
	for _, busy := range m.outcomes(turn).GetHeld() {
		return busy.GetOwner(), true
	}
	return "", false
}

// outcomes asks the sessions role as a worker would.
func (m *Mesh) outcomes(turn string) *executionv1.GetOutcomesResponse {
	m.t.Helper()
	ring, err := authn.NewKeyring([]byte(meshKey))
	if err != nil {
		m.t.Fatal(err)
	}
	as := authn.Service("worker")
	as.Tenant = "default"
	conn, err := rpc.Dial(m.network("sessions"), "sessions", rpc.ClientConfig{Keyring: ring, As: as})
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	out, err := executionv1.NewExecutionServiceClient(conn).GetOutcomes(m.t.Context(), &executionv1.GetOutcomesRequest{TurnId: turn})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// WorkflowClosed reports whether a turn's workflow has closed as its turn ended.
func (m *Mesh) WorkflowClosed(turn string) bool {
	return isClosed(m.WorkflowStatus(turn))
}

// WorkflowClosed reports whether a turn's workflow has closed as its turn ended.
func (e *Embedded) WorkflowClosed(turn string) bool { return isClosed(workflowStatus(e.UI(), turn)) }

func isClosed(status string) bool {
	return strings.HasSuffix(status, "COMPLETED") || strings.HasSuffix(status, "FAILED") || strings.HasSuffix(status, "CANCELED")
}

// WorkflowStatus is what the Temporal UI shows of a turn's workflow; "none" while it shows nothing.
func (m *Mesh) WorkflowStatus(turn string) string {
	m.t.Helper()
	return workflowStatus(m.UI(), turn)
}

func workflowStatus(ui *Client, turn string) string {
	status, out, err := ui.Do(ui.t.Context(), "GET", "/api/v1/namespaces/default/workflows/"+turn, nil)
	info, shown := out["workflowExecutionInfo"].(map[string]any)
	if err != nil || status != http.StatusOK || !shown {
		return "none"
	}
	return JSON(info).Str("status")
}
