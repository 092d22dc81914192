// Package serve contains the commands that run the mesh: windlass up and windlassd.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/telemetry"
)

// modelEnv names the variable with the default model; it is shorter than the configuration's own.
const modelEnv = "WINDLASS_MODEL"

type upFlags struct {
	dataDir, grpcAddr, temporalAddr, temporalUIAddr string
	config                                          string
	verbose                                         bool
}

// Up returns the command that runs the whole mesh in this process.
func Up(a *app.App) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run all of Windlass on this machine",
		Long: `Run all of Windlass in one process, with its own Temporal server, message bus and SQLite database.

All state is in the data directory: stop it, start it again, and turns under way go on where they were.
An address with port 0 picks a free port. With -o json the ready line is one JSON object on standard output.
Logs go to standard error.`,
		Example: `  windlass up
  OPENAI_API_KEY=… windlass up
  windlass up --data-dir /var/lib/windlass --http-addr 127.0.0.1:0 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUp(cmd, a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dataDir, "data-dir", ".windlass", "directory that keeps all state")
	flags.String("http-addr", "127.0.0.1:8080", "address of REST, event streams and the console")
	flags.StringVar(&f.grpcAddr, "grpc-addr", "127.0.0.1:9090", "address of the gRPC services")
	flags.StringVar(&f.temporalAddr, "temporal-addr", "127.0.0.1:7233", "address of the Temporal server that is started")
	flags.StringVar(&f.temporalUIAddr, "temporal-ui-addr", "127.0.0.1:8233", "address of its web UI")
	flags.String("issuer-addr", config.Default[account.Config]().Addr, "address of the built-in issuer, at which users log in; off for none")
	flags.StringVar(&f.config, "config", "", "YAML file with configuration (see 'windlassd config')")
	flags.String("log-level", "warn", "least level that is logged: debug, info, warn or error")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log at level debug")
	return cmd
}

func runUp(cmd *cobra.Command, a *app.App, f upFlags) (err error) {
	ctx := cmd.Context()
	asJSON, err := wantJSON(cmd)
	if err != nil {
		return err
	}
	cfg, err := upConfig(cmd, a, f)
	if err != nil {
		return err
	}
	tel, err := telemetry.Setup(ctx, "windlass", a.Build().Version, cfg.Telemetry, a.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(tel)) }()

	say := say(a.Err, asJSON)
	if cfg.Temporal.Address == "" {
		say("starting Temporal and the roles on %s…", f.dataDir)
	} else {
		say("starting the roles on %s with Temporal at %s…", f.dataDir, cfg.Temporal.Address)
	}
	quiet := context.AfterFunc(ctx, func() { say("stopping… (again to stop at once)") })
	defer quiet()
	begin := time.Now()
	if err := memlimit.Start(ctx, cfg.Memory, a.Getenv("GOMEMLIMIT"), tel.Log); err != nil {
		return err
	}
	return embedded.Run(ctx, embedded.Options{
		Config: cfg, DataDir: f.dataDir,
		GRPCAddr: f.grpcAddr, TemporalAddr: f.temporalAddr, TemporalUIAddr: f.temporalUIAddr,
		Log: tel.Log, Metrics: tel.Metrics, Getenv: a.Getenv, Kill: killed(tel.Log),
		Started: func(r embedded.Ready) {
			say("started in %.1f s", time.Since(begin).Seconds())
			if err := writeReady(a.Out, a.Self, r, asJSON); err != nil {
				tel.Log.ErrorContext(ctx, "cannot write the ready line", "error", err)
			}
			debug.FreeOSMemory() // the start needs more than what follows, and Go returns memory slowly
		},
		Slow: func(part string) {
			if part == assembly.Worker {
				say("waiting up to %s for running steps to end; those that do not go on at the next start…", cfg.Worker.DrainTime)
				return
			}
			say("waiting for %s to stop…", part)
		},
	})
}

// upConfig reads defaults, file, environment and flags; it logs less than a server, since a person reads the output.
func upConfig(cmd *cobra.Command, a *app.App, f upFlags) (assembly.Config, error) {
	defaults := embedded.Defaults()
	defaults.Telemetry.LogLevel = "warn"
	cfg, err := load(a, defaults, config.Options{
		File: f.config, Flags: cmd.Flags(),
		FlagKeys: map[string]string{
			"http-addr": "gateway.addr", "log-level": "telemetry.log_level", "issuer-addr": "identity.issuer.addr",
		},
	})
	if err != nil {
		return cfg, err
	}
	if f.verbose {
		cfg.Telemetry.LogLevel = "debug"
	}
	return cfg, nil
}

// load reads the configuration of a process.
func load(a *app.App, defaults assembly.Config, opts config.Options) (assembly.Config, error) {
	opts.Environ = append([]string{}, a.Environ...) // not nil, which would mean the process's own
	cfg, err := assembly.Load(defaults, opts)
	if err != nil {
		return cfg, err
	}
	if m := a.Getenv(modelEnv); m != "" {
		cfg.Inference.DefaultModel = m
	}
	return cfg, nil
}

// wantJSON reads the -o flag of a command without a table.
func wantJSON(cmd *cobra.Command) (bool, error) {
	flag := cmd.Flags().Lookup("output")
	if flag == nil || !flag.Changed {
		return false, nil
	}
	switch flag.Value.String() {
	case "json":
		return true, nil
	case "table":
		return false, nil
	}
	return false, app.Usage("%s prints text, or one JSON object with -o json; not %q", cmd.CommandPath(), flag.Value)
}

// say returns a printer of progress messages for people, which prints nothing if mute is set.
func say(w io.Writer, mute bool) func(format string, args ...any) {
	return func(format string, args ...any) {
		if !mute {
			_, _ = fmt.Fprintf(w, format+"\n", args...) // best effort
		}
	}
}

func shutdown(t *telemetry.Telemetry) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := t.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last telemetry: %w", err)
	}
	return nil
}

// writeReady prints the addresses.
func writeReady(w io.Writer, self string, r embedded.Ready, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	_, err := io.WriteString(w, readyText(self, r))
	return err
}

func readyText(self string, r embedded.Ready) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nWindlass is ready.\n\n")
	for _, row := range [][2]string{
		{"API and console", r.URL},
		{"gRPC", r.GRPC},
		{"Temporal", r.Temporal},
		{"Temporal UI", r.TemporalUI},
		{"Login", r.Issuer},
		{"Data", r.DataDir},
		{"Model", modelText(r.Model)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "  %-19s %s\n", row[0], row[1])
		}
	}
	server := ""
	if r.URL != "http://127.0.0.1:8080" {
		server = " --server " + r.URL
	}
	fmt.Fprintf(&b, "\nTalk to it from another terminal:\n\n  %s chat%s\n\nor start a turn and watch its events:\n\n%s\n", self, server,
		curls(r))
	return b.String()
}

func modelText(model string) string {
	switch {
	case model == "":
		return "none: set WINDLASS_MODEL=provider/model"
	case strings.HasPrefix(model, "builtin/"):
		return model + " (scripted answers, no AI; for a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY,\n" +
			strings.Repeat(" ", 22) + "or run Ollama, and start again; WINDLASS_MODEL=provider/model chooses)"
	default:
		return model + " (WINDLASS_MODEL=provider/model chooses another)"
	}
}

// curls returns a shell snippet that needs only curl and grep.
func curls(r embedded.Ready) string {
	const lines = `  S=$(curl -s -H 'Content-Type: application/json' -d '{}' URL/v1/sessions | grep -o 'ses_[0-9a-zA-Z]*' | head -n 1)
  curl -sN -H 'Accept: text/event-stream' -H 'Content-Type: application/json' -d '{"input":"What is 17 * 23?"}' URL/v1/sessions/$S/turns
`
	out := strings.ReplaceAll(lines, "URL", r.URL)
	if r.NeedsToken {
		out = "  T=\"Authorization: Bearer $(cat " + r.TokenFile + ")\"\n" + strings.ReplaceAll(out, "curl -s", "curl -H \"$T\" -s")
	}
	return out
}
