package assembly

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/knowledge"
	"github.com/windlass-dev/windlass/services/mcpbridge"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/registry"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
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
	Knowledge knowledge.Config `yaml:"knowledge"`
	Policy    policy.Config    `yaml:"policy"`
	Inference inference.Config `yaml:"inference"`
	MCPBridge mcpbridge.Config `yaml:"mcpbridge"`
	Worker    WorkerConfig     `yaml:"worker"`
}

// MeshConfig configures how roles in separate processes find and trust each other.
type MeshConfig struct {
	Key     secret.Value      `yaml:"key" doc:"Secret that all processes of a mesh share, at least 32 characters: it signs the caller's identity between them, and seals the provider data of requests. windlass up makes its own."`
	Listen  map[string]string `yaml:"listen" doc:"gRPC listen address by role, for the roles of this process."`
	Targets map[string]string `yaml:"targets" doc:"Address of each role: host:port, several of them separated by commas, or any gRPC target such as dns:///sessions:9090. Calls are balanced over all addresses that can be reached."`
	Hosts   []string          `yaml:"hosts" doc:"Names by which clients from outside the mesh call the gRPC, health and metrics ports of this process, without port, besides those in mesh.targets, loopback and its own address; .example.com allows all below it, * everything. Other calls are refused."`
	// TLS secures the connections.
	TLS        MeshTLSConfig `yaml:"tls"`
	Reflection bool          `yaml:"reflection" doc:"Let clients list the gRPC services and their messages, as grpcurl does. windlass up does."`
	LameDuck   time.Duration `yaml:"lame_duck" doc:"How long a process that is asked to stop still accepts calls while it reports that it is not ready, so that load balancers stop sending it new ones before it refuses them. 0: it stops at once. A process with nothing but workers does not wait."`
	Metrics    string        `yaml:"metrics" doc:"Address that serves /healthz, /readyz and /metrics over HTTP for a process without the gateway role. Empty: none."`
}

// DatabaseConfig configures the databases.
type DatabaseConfig struct {
	URL              string        `yaml:"url" default:"sqlite:.windlass" doc:"sqlite:DIRECTORY (one file per service) or postgres://… (one schema per service)."`
	MaxConns         int           `yaml:"max_conns" doc:"Maximum number of PostgreSQL connections, or of SQLite readers, per service; 0: 16 or 4."`
	Migrate          string        `yaml:"migrate" default:"auto" doc:"Who changes the tables for a new version. auto: each service when it starts. verify: windlassd migrate alone; a service waits for it, and needs no right to change tables."`
	MigrateWait      time.Duration `yaml:"migrate_wait" default:"1m" doc:"How long a service with database.migrate: verify waits at its start for the migration before it fails, on PostgreSQL."`
	StatementTimeout time.Duration `yaml:"statement_timeout" doc:"After how long PostgreSQL ends a statement of a request or of background work, which then fails with UNAVAILABLE; migrations may take any time. 0: the server's statement_timeout. A pooler must let the parameter pass."`
	LockTimeout      time.Duration `yaml:"lock_timeout" doc:"After how long PostgreSQL ends a statement, of a migration too, that waits for a lock. 0: the server's lock_timeout. A pooler must let the parameter pass."`
	Flush            string        `yaml:"flush" default:"promises" doc:"What a power failure cannot take, on SQLite. promises: whatever a caller was told was accepted, and what a once call rests on. commits: every commit. calls: only the ledger rows of once calls, so that an accepted turn may be lost, and its once call repeated by a request that is sent again. PostgreSQL flushes every commit."`
}

// open returns how to open the database of a role.
func (c DatabaseConfig) open(role string, log *slog.Logger) sqldb.Config {
	return sqldb.Config{
		URL: c.databaseURL(role), Schema: role, MaxConns: c.MaxConns, FlushOn: c.Flush, Log: log,
		Migrations: c.Migrate, MigrationWait: c.MigrateWait,
		StatementTimeout: c.StatementTimeout, LockTimeout: c.LockTimeout,
	}
}

// TemporalConfig configures the Temporal server.
type TemporalConfig struct {
	Address string `yaml:"address" default:"127.0.0.1:7233" doc:"Frontend of the Temporal server, host:port. Empty in windlass up: it starts its own server."`
	// TLS secures the connection.
	TLS        TemporalTLSConfig `yaml:"tls"`
	APIKey     secret.Value      `yaml:"api_key" doc:"API key for Temporal, as of Temporal Cloud. It is sent over TLS only, and turns temporal.tls on."`
	APIKeyFile string            `yaml:"api_key_file" doc:"File with such a key, instead of api_key; only its owner may read it (mode 0600 or less). It is read again when it changes."`
	Namespace  string            `yaml:"namespace" default:"default" doc:"Temporal namespace that holds the turns."`
	Program    string            `yaml:"program" doc:"Path of the windlass-temporal program that windlass up starts; empty: beside windlass, then on PATH."`
	Eager      bool              `yaml:"eager" doc:"Start a turn's workflow in the process that accepts the turn if it also has the worker role; saves a few milliseconds."`
	ParkAfter  time.Duration     `yaml:"park_after" doc:"How long the workflow of a waiting turn stays in its worker's memory before it is parked; a parked workflow only takes rows in Temporal's database until an event wakes it. Answers within that time are the cheapest."`
	UI         string            `yaml:"ui" default:"http://127.0.0.1:8233" doc:"URL of the Temporal UI, to which the console links, and whose pages may call the codec endpoint of the gateway."`
	// UIProxy has the gateway serve the UI.
	UIProxy      TemporalUIConfig `yaml:"ui_proxy"`
	Encrypt      bool             `yaml:"encrypt" default:"true" doc:"Encrypt what is stored in Temporal, and refuse what is not encrypted. With false, encrypted and clear payloads are read: set it in all processes while some of them are of a version without encryption."`
	AcceptClear  bool             `yaml:"accept_clear" doc:"Read payloads in Temporal that are not encrypted although temporal.encrypt is true. Set it while workflows and schedules of a time without encryption are left: who can write to Temporal can start workflows without a key then."`
	CodecKey     secret.Value     `yaml:"codec_key" doc:"Secret of at least 32 characters from which the key of encrypted payloads is derived; the same for all processes with the sessions, worker or gateway role. Empty: derived from mesh.key."`
	OldCodecKeys []secret.Value   `yaml:"old_codec_keys" doc:"Previous values of codec_key, or of mesh.key where codec_key was empty. They only decrypt: keep them as long as Temporal keeps histories of that time."`
}

// EgressConfig configures outbound connections.
type EgressConfig struct {
	Profile    string   `yaml:"profile" default:"local" doc:"local (loopback and private addresses too), public (public addresses only) or cluster (listed ones only)."`
	Allow      []string `yaml:"allow" doc:"Additional address ranges that are allowed, as CIDR."`
	AllowHosts []string `yaml:"allow_hosts" doc:"Host names that are allowed whatever they resolve to; .example.com matches all subdomains."`
}

// WorkerConfig configures the worker role.
type WorkerConfig struct {
	turn.Config `yaml:",inline"`
	// Executors configures agents that run outside the built-in engine.
	Executors executor.Config `yaml:"executors"`
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
	c.ID = cmp.Or(c.ID, ids.New(ids.Worker))
	return c.Config
}

// Defaults returns the defaults of windlassd: separate processes on one machine, one port per role.
func Defaults() Config {
	c := config.Default[Config]()
	c.Policy, c.Temporal.ParkAfter = policy.DefaultConfig(), contract.ParkAfter
	c.Mesh.Listen, c.Mesh.Targets = map[string]string{}, map[string]string{}
	for i, role := range []string{Sessions, Registry, Policy, Inference, MCPBridge, Worker, Gateway, Knowledge} {
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
