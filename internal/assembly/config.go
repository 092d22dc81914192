package assembly

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/mcpbridge"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
)

// EnvPrefix is the prefix of all our environment variables.
const EnvPrefix = "WINDLASS_"

// Config is the whole configuration, for a process with any roles.
type Config struct {
	Mesh      MeshConfig       `yaml:"mesh"`
	Database  DatabaseConfig   `yaml:"database"`
	Bus       BusConfig        `yaml:"bus"`
	Temporal  TemporalConfig   `yaml:"temporal"`
	Identity  IdentityConfig   `yaml:"identity"`
	Egress    EgressConfig     `yaml:"egress"`
	Telemetry telemetry.Config `yaml:"telemetry"`
	Memory    memlimit.Config  `yaml:"memory"`
	Gateway   gateway.Config   `yaml:"gateway"`
	Sessions  sessions.Config  `yaml:"sessions"`
	Registry  registry.Config  `yaml:"registry"`
	Policy    policy.Config    `yaml:"policy"`
	Inference inference.Config `yaml:"inference"`
	MCPBridge mcpbridge.Config `yaml:"mcpbridge"`
	Worker    WorkerConfig     `yaml:"worker"`
}

// MeshConfig configures how roles in separate processes find and trust each other.
type MeshConfig struct {
	// Key is shared by all processes of a mesh.
	Key secret.Value `yaml:"key" doc:"Secret that all processes of a mesh share, at least 32 characters: it signs the caller's identity between them, and seals the provider data of requests. windlass up makes its own."`
	// Listen maps roles to listen addresses.
	Listen map[string]string `yaml:"listen" doc:"gRPC listen address by role, for the roles of this process."`
	// Targets maps roles to their addresses.
	Targets map[string]string `yaml:"targets" doc:"Address of each role: host:port, several of them separated by commas, or any gRPC target such as dns:///sessions:9090. Calls are balanced over all addresses that can be reached."`
	// Hosts are the names of the process.
	Hosts []string `yaml:"hosts" doc:"Names by which clients from outside the mesh call the gRPC, health and metrics ports of this process, without port, besides those in mesh.targets, loopback and its own address; .example.com allows all below it, * everything. Other calls are refused."`
	// TLS secures the connections.
	TLS MeshTLSConfig `yaml:"tls"`
	// Reflection describes the services.
	Reflection bool `yaml:"reflection" doc:"Let clients list the gRPC services and their messages, as grpcurl does. windlass up does."`
	// Metrics is where a process without a gateway serves health and metrics.
	Metrics string `yaml:"metrics" doc:"Address that serves /healthz, /readyz and /metrics over HTTP for a process without the gateway role. Empty: none."`
}

// DatabaseConfig configures the databases.
type DatabaseConfig struct {
	// URL is sqlite:DIR or postgres://…
	URL string `yaml:"url" doc:"sqlite:DIRECTORY (one file per service) or postgres://… (one schema per service)."`
	// MaxConns limits each service's pool.
	MaxConns int `yaml:"max_conns" doc:"Maximum number of PostgreSQL connections, or of SQLite readers, per service."`
	// Flush says which commits are flushed.
	Flush string `yaml:"flush" doc:"What a power failure cannot take, on SQLite. promises: whatever a caller was told was accepted, and what a once call rests on. commits: every commit. calls: only the ledger rows of once calls, so that an accepted turn may be lost, and its once call repeated by a request that is sent again. PostgreSQL flushes every commit."`
}

// TemporalConfig configures the Temporal server.
type TemporalConfig struct {
	// Address of the frontend.
	Address string `yaml:"address" doc:"Frontend of the Temporal server, host:port. Empty in windlass up: it starts its own server."`
	// TLS secures the connection.
	TLS TemporalTLSConfig `yaml:"tls"`
	// APIKey and APIKeyFile authenticate at servers that take one.
	APIKey     secret.Value `yaml:"api_key" doc:"API key for Temporal, as of Temporal Cloud. It is sent over TLS only, and turns temporal.tls on."`
	APIKeyFile string       `yaml:"api_key_file" doc:"File with such a key, instead of api_key; only its owner may read it (mode 0600 or less). It is read again when it changes."`
	// Namespace of the turns.
	Namespace string `yaml:"namespace" doc:"Temporal namespace that holds the turns."`
	// Program of the embedded server.
	Program string `yaml:"program" doc:"Path of the windlass-temporal program that windlass up starts; empty: beside windlass, then on PATH."`
	// Eager starts workflows in this process where possible.
	Eager bool `yaml:"eager" doc:"Start a turn's workflow in the process that accepts the turn if it also has the worker role; saves a few milliseconds."`
	// ParkAfter is how long workflows of waiting turns stay in memory.
	ParkAfter time.Duration `yaml:"park_after" doc:"How long the workflow of a waiting turn stays in its worker's memory before it is parked; a parked workflow only takes rows in Temporal's database until an event wakes it. Answers within that time are the cheapest."`
	// UI is the web UI's URL.
	UI string `yaml:"ui" doc:"URL of the Temporal UI, to which the console links, and whose pages may call the codec endpoint of the gateway."`
	// UIProxy has the gateway serve the UI.
	UIProxy TemporalUIConfig `yaml:"ui_proxy"`
	// Encrypt encrypts payloads.
	Encrypt bool `yaml:"encrypt" doc:"Encrypt what is stored in Temporal, and refuse what is not encrypted. With false, encrypted and clear payloads are read: set it in all processes while some of them are of a version without encryption."`
	// AcceptClear reads payloads in clear.
	AcceptClear bool `yaml:"accept_clear" doc:"Read payloads in Temporal that are not encrypted although temporal.encrypt is true. Set it while workflows and schedules of a time without encryption are left: who can write to Temporal can start workflows without a key then."`
	// CodecKey encrypts payloads.
	CodecKey secret.Value `yaml:"codec_key" doc:"Secret of at least 32 characters from which the key of encrypted payloads is derived; the same for all processes with the sessions, worker or gateway role. Empty: derived from mesh.key."`
	// OldCodecKeys decrypt what was encrypted before CodecKey was changed.
	OldCodecKeys []secret.Value `yaml:"old_codec_keys" doc:"Previous values of codec_key, or of mesh.key where codec_key was empty. They only decrypt: keep them as long as Temporal keeps histories of that time."`
}

// EgressConfig configures outbound connections.
type EgressConfig struct {
	// Profile is local, public or cluster.
	Profile string `yaml:"profile" doc:"local (loopback and private addresses too), public (public addresses only) or cluster (listed ones only)."`
	// Allow lists address ranges.
	Allow []string `yaml:"allow" doc:"Additional address ranges that are allowed, as CIDR."`
	// AllowHosts lists host names.
	AllowHosts []string `yaml:"allow_hosts" doc:"Host names that are allowed whatever they resolve to; .example.com matches all subdomains."`
}

// WorkerConfig configures the worker role.
type WorkerConfig struct {
	// ID identifies the worker.
	ID string `yaml:"id" doc:"Name of this worker in leases and in the Temporal UI; unique per process. Empty: a new one is generated at each start."`
	// MaxConcurrent limits concurrent steps.
	MaxConcurrent int `yaml:"max_concurrent" doc:"Maximum number of model and tool steps that one worker runs concurrently."`
	// MaxRunning limits concurrent eager runs.
	MaxRunning int `yaml:"max_running" doc:"Maximum number of concurrent eager runs per worker; further turns wait for their workflow."`
	// CachedWorkflows limits the memory used for waiting turns.
	CachedWorkflows int `yaml:"cached_workflows" doc:"Turns whose workflows a worker keeps in memory; further ones are replayed from Temporal when an event arrives. Waiting turns are removed after temporal.park_after."`
	// DrainTime is for a clean stop.
	DrainTime time.Duration `yaml:"drain_time" doc:"How long running steps may continue when a worker stops, before other workers take them over."`
	// Deployment is the name of the workers' deployment.
	Deployment string `yaml:"deployment" doc:"Name under which Temporal keeps the versions of these workers; a turn stays with the version of the worker that began it. Empty: workers without versions. With build_id, never with temporal.eager."`
	// BuildID is the version.
	BuildID string `yaml:"build_id" doc:"Version of this worker in its deployment. New turns go to the version made current with windlassd versions promote."`
	// LeaseTTL is how long a lost worker's step stays leased.
	LeaseTTL time.Duration `yaml:"lease_ttl" doc:"How long a step stays leased to a worker that sends no heartbeat."`
	// Coalesce batches deltas.
	Coalesce time.Duration `yaml:"coalesce" doc:"How long a model's text is collected before it is sent to watchers; the first piece is sent at once."`
	// Executors configures agents that run outside the built-in engine.
	Executors executor.Config `yaml:"executors"`
	// ModelAttempts limits the attempts of a model call.
	ModelAttempts uint32 `yaml:"model_attempts" doc:"Maximum attempts of a model call that fails with a transient error, before the turn fails."`
	// ContextWindow is the default for unknown models.
	ContextWindow int32 `yaml:"context_window" doc:"Context window in tokens to assume for a model if neither inference.models nor its family defines it."`
	// MaxShownTools is when a model searches.
	MaxShownTools int `yaml:"max_shown_tools" doc:"Number of tools up to which a model is shown all tools of its agent. With more, it finds them with find_tools and calls them with call_tool."`
}

// check rejects settings that would leave turns without a worker.
func (c WorkerConfig) check(eager bool) error {
	switch {
	case (c.Deployment == "") != (c.BuildID == ""):
		return errors.New("worker.deployment and worker.build_id go together: set both or neither")
	case strings.ContainsAny(c.Deployment, ".:"):
		return fmt.Errorf("worker.deployment %q: a name without '.' and ':' is needed", c.Deployment)
	case c.Deployment != "" && eager:
		return errors.New("temporal.eager begins turns without regard to versions: leave it off with worker.deployment")
	}
	return nil
}

func (c WorkerConfig) turn() turn.Config {
	if c.ID == "" {
		c.ID = ids.New(ids.Worker)
	}
	return turn.Config{
		ID: c.ID, MaxConcurrent: c.MaxConcurrent, MaxRunning: c.MaxRunning, CachedWorkflows: c.CachedWorkflows, DrainTime: c.DrainTime,
		Deployment: c.Deployment, BuildID: c.BuildID,
		Step: runner.Config{
			LeaseTTL: c.LeaseTTL, Coalesce: c.Coalesce, InferAttempts: c.ModelAttempts, ContextWindow: c.ContextWindow,
			MaxShownTools: c.MaxShownTools,
		},
	}
}

// Defaults returns the defaults of windlassd: separate processes on one machine, one port per role.
func Defaults() Config {
	c := Config{
		Mesh:     MeshConfig{Listen: map[string]string{}, Targets: map[string]string{}, TLS: MeshTLSConfig{Mode: TLSRequired}},
		Database: DatabaseConfig{URL: "sqlite:.windlass", Flush: sqldb.FlushPromises},
		Bus:      BusConfig{URL: "nats://127.0.0.1:4222", Listen: "127.0.0.1:4222", Replicas: 1, Credentials: bus.MeshCredentials},
		Temporal: TemporalConfig{
			Address: "127.0.0.1:7233", Namespace: "default", UI: "http://127.0.0.1:8233", ParkAfter: contract.ParkAfter, Encrypt: true,
		},
		Identity:  IdentityConfig{Issuer: account.DefaultConfig()},
		Egress:    EgressConfig{Profile: egress.Local},
		Telemetry: telemetry.Defaults(),
		Memory:    memlimit.Config{Limit: memlimit.Off},
		Gateway:   gateway.DefaultConfig(),
		Sessions:  sessions.DefaultConfig(),
		Registry:  registry.DefaultConfig(),
		Policy:    policy.DefaultConfig(),
		Inference: inference.DefaultConfig(),
		MCPBridge: mcpbridge.DefaultConfig(),
		Worker: WorkerConfig{
			MaxConcurrent: 1000, MaxRunning: 256, CachedWorkflows: 512, DrainTime: 5 * time.Second,
			LeaseTTL: 2 * time.Second, Coalesce: 25 * time.Millisecond, ModelAttempts: 5, ContextWindow: 128_000, MaxShownTools: 64,
			Executors: executor.DefaultConfig(),
		},
	}
	for i, role := range []string{Sessions, Registry, Policy, Inference, MCPBridge, Worker, Gateway} {
		addr := fmt.Sprintf("127.0.0.1:%d", 9091+i)
		c.Mesh.Listen[role], c.Mesh.Targets[role] = addr, addr
	}
	return c
}

// Load reads the configuration over the given defaults: file, then environment, then the flags in opts.
func Load(defaults Config, opts config.Options) (Config, error) {
	out := defaults
	opts.Defaults, opts.Into, opts.EnvPrefix = defaults, &out, EnvPrefix
	opts.EnvAllow = append(opts.EnvAllow, faultpoint.Variables()...)
	opts.EnvAllow = append(opts.EnvAllow, "WINDLASS_MODEL", "WINDLASS_TOOL_*", "WINDLASS_EXECUTOR_*", "WINDLASS_SERVER", "WINDLASS_TOKEN",
		"WINDLASS_TEST_*", "WINDLASS_REQUIRE_*")
	if err := config.Load(opts); err != nil {
		return Config{}, err
	}
	return out, nil
}

// databaseURL returns the URL of a service's database.
func (c DatabaseConfig) databaseURL(role string) string {
	if dir, ok := strings.CutPrefix(c.URL, "sqlite:"); ok {
		return "sqlite:" + strings.TrimSuffix(dir, "/") + "/" + role + ".db"
	}
	return c.URL
}

// Build returns what makes outbound connections under this configuration, and also to own, servers of this process.
func (c EgressConfig) Build(own ...netip.AddrPort) (*egress.Egress, error) {
	cfg := egress.Config{Profile: c.Profile, AllowHosts: c.AllowHosts, AllowAddrs: own}
	for _, s := range c.Allow {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("egress.allow %q: want a range such as 10.1.0.0/16: %w", s, err)
		}
		cfg.Allow = append(cfg.Allow, p)
	}
	e, err := egress.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	return e, nil
}

// buildWith returns Build, and what makes connections to identity providers: the same, or with the URL of one in this process, also to that
// one.
func (c EgressConfig) buildWith(issuer string) (all, issuers *egress.Egress, err error) {
	if all, err = c.Build(); err != nil || issuer == "" {
		return all, all, err
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, nil, fmt.Errorf("URL of the built-in issuer: %w", err)
	}
	addr, err := netip.ParseAddrPort(u.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("address of the built-in issuer: %w", err)
	}
	issuers, err = c.Build(addr)
	return all, issuers, err
}

// Keys lists all configuration keys, for the reference.
func Keys() []config.Key { return config.Describe(Defaults(), EnvPrefix) }
