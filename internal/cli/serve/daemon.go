package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

// stopTimeout bounds a clean stop of a process of the mesh.
const stopTimeout = 20 * time.Second

// roleTexts describes each role, in start order.
func roleTexts() [][2]string {
	return [][2]string{
		{assembly.Bus, "message bus of a mesh without a NATS cluster"},
		{assembly.Policy, "who may do what; keeps every decision"},
		{assembly.Inference, "model calls, whatever the provider"},
		{assembly.MCPBridge, "connections to MCP tool servers"},
		{assembly.Knowledge, "banks of documents, and what searches find in them"},
		{assembly.Registry, "tool sources, tools, and the ledger of tool executions"},
		{assembly.Sessions, "agents, sessions, turns and the journal of events"},
		{assembly.Worker, "executes turns; run as many as you like"},
		{assembly.Gateway, "REST, event streams and the console"},
	}
}

// daemonReady is the line that windlassd prints once its roles serve.
type daemonReady struct {
	Ready bool     `json:"ready"`
	Roles []string `json:"roles"`
	PID   int      `json:"pid"`
	// HTTP is the gateway's URL, if this process has that role.
	HTTP string `json:"http,omitempty"`
}

// Daemon returns the windlassd command.
func Daemon(a *app.App) *cobra.Command {
	var file string
	var help strings.Builder
	var roles []string
	for _, r := range roleTexts() {
		fmt.Fprintf(&help, "  %-10s %s\n", r[0], r[1])
		roles = append(roles, r[0])
	}
	cmd := &cobra.Command{
		Use:   "windlassd ROLE…",
		Short: "Run roles of a Windlass mesh",
		Long: `Run one or several roles of a Windlass mesh in this process, connected with the others over TCP.

Roles:
` + help.String() + `
Configuration comes from the file, then environment variables; 'windlassd config' describes what can be configured.
Once all roles serve, one JSON line is printed on standard output. Logs go to standard error.`,
		Example: `  windlassd sessions registry policy --config windlass.yaml
  WINDLASS_MESH_KEY=… windlassd worker`,
		ValidArgs: roles,
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(roles, arg) {
					return app.Usage("there is no role %q; roles are %s", arg, strings.Join(roles, ", "))
				}
			}
			if len(args) == 0 {
				return app.Usage("name at least one role: %s", strings.Join(roles, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runDaemon(cmd, a, file, args) },
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file with configuration")
	cmd.Flags().String("log-level", "info", "least level that is logged: debug, info, warn or error")
	cmd.AddCommand(reference(a), versions(a), migrateCommand(a), recoverCommand(a), temporalCertificates(a), daemonVersion(a))
	return cmd
}

func runDaemon(cmd *cobra.Command, a *app.App, file string, args []string) (err error) {
	ctx := cmd.Context()
	cfg, err := load(a, assembly.Defaults(), config.Options{
		File: file, Flags: cmd.Flags(), FlagKeys: map[string]string{"log-level": "telemetry.log_level"},
	})
	if err != nil {
		return err
	}
	tel, err := telemetry.Setup(ctx, "windlassd", a.Build().Version, cfg.Telemetry, a.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(tel)) }()
	if err := memlimit.Start(ctx, cfg.Memory, a.Getenv("GOMEMLIMIT"), tel.Log); err != nil {
		return err
	}

	web, err := webListener(ctx, cfg, args)
	if err != nil {
		return err
	}
	if web != nil {
		defer func() { _ = web.Close() }() // closed by the gateway, except after a failed start
	}
	network, err := cfg.Mesh.Network(args)
	if err != nil {
		return err
	}
	p, err := assembly.New(ctx, assembly.Options{
		Config: cfg, Roles: args, Network: network,
		HTTP: web, Log: tel.Log, Metrics: tel.Metrics, Getenv: a.Getenv,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it had started
		}
		return err
	}
	ready := daemonReady{Ready: true, Roles: args, PID: os.Getpid()}
	if web != nil {
		ready.HTTP = cfg.Gateway.Scheme() + "://" + web.Addr().String()
	}
	return p.Run(ctx, stopTimeout, func() {
		if err := json.NewEncoder(a.Out).Encode(ready); err != nil {
			tel.Log.ErrorContext(ctx, "cannot write the ready line", "error", err)
		}
	})
}

// webListener listens for the gateway, so that the ready line has the actual port; nil if the role runs elsewhere.
func webListener(ctx context.Context, cfg assembly.Config, roles []string) (net.Listener, error) {
	if !slices.Contains(roles, assembly.Gateway) {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Gateway.Addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on gateway.addr %s (is another process using the port?): %w", cfg.Gateway.Addr, err)
	}
	return l, nil
}
