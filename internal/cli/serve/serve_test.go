package serve

import (
	"bytes"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/embedded"
)

// newRoot returns the windlass command with what up needs.
func newRoot(a *app.App) *cobra.Command {
	root := &cobra.Command{Use: "windlass"}
	root.PersistentFlags().StringP("output", "o", "table", "")
	root.AddCommand(Up(a))
	return root
}

func TestUpRefuses(t *testing.T) {
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for _, tc := range []struct {
		name string
		args []string
		env  []string
		code int
		err  string
	}{
		{name: "an unknown flag", args: []string{"--nope"}, code: 2, err: "unknown flag"},
		{name: "an argument", args: []string{"x"}, code: 2, err: "unknown command"},
		{name: "output as a table of names", args: []string{"-o", "name"}, code: 2, err: "one JSON object with -o json"},
		{name: "a config file that is not there", args: []string{"--config", "/nope.yaml"}, code: 1, err: "/nope.yaml"},
		{name: "an unknown variable", env: []string{"WINDLASS_GATEWAY_ADR=x"}, code: 1, err: `did you mean "WINDLASS_GATEWAY_ADDR"?`},
		{name: "a wrong log level", args: []string{"--log-level", "loud"}, code: 1, err: "loud"},
		{name: "a port that is taken", args: []string{"--http-addr", taken.Addr().String()}, code: 1, err: "choose another with --http-addr"},
		{
			name: "certificates for its own Temporal", env: []string{"WINDLASS_TEMPORAL_TLS_CA=/ca.pem"}, code: 1, err: "set temporal.address too",
			args: []string{"--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--issuer-addr", "off"},
		},
		{name: "a data directory that cannot be", args: []string{"--data-dir", "/dev/null/x"}, code: 1, err: "--data-dir"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			a := &app.App{Out: &out, Err: &errs, Environ: tc.env}
			code := a.Execute(t.Context(), newRoot(a), append([]string{"up", "--data-dir", t.TempDir()}, tc.args...))
			if code != tc.code || !strings.Contains(errs.String(), tc.err) || out.Len() > 0 {
				t.Errorf("%d %q, want %d %q; stdout %q", code, errs.String(), tc.code, tc.err, out.String())
			}
		})
	}
}

func TestUpConfiguration(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		env  []string
		ok   func(assembly.Config) bool
	}{
		{"defaults", nil, nil, func(c assembly.Config) bool {
			return c.Gateway.Addr == "127.0.0.1:8080" && c.Telemetry.LogLevel == "warn" && c.Inference.DefaultModel == "" && c.Temporal.Address == ""
		}},
		{"flags", []string{"--http-addr", "127.0.0.1:0", "--log-level", "info"}, nil, func(c assembly.Config) bool {
			return c.Gateway.Addr == "127.0.0.1:0" && c.Telemetry.LogLevel == "info"
		}},
		{"verbose", []string{"-v"}, nil, func(c assembly.Config) bool { return c.Telemetry.LogLevel == "debug" }},
		{
			"environment", nil,
			[]string{"WINDLASS_TELEMETRY_LOG_LEVEL=error", "WINDLASS_MODEL=openai/x", "WINDLASS_SERVER=http://x"},
			func(c assembly.Config) bool {
				return c.Telemetry.LogLevel == "error" && c.Inference.DefaultModel == "openai/x"
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &app.App{Environ: tc.env}
			cmd := Up(a)
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			verbose, err := cmd.Flags().GetBool("verbose")
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := upConfig(cmd, a, upFlags{verbose: verbose})
			if err != nil || !tc.ok(cfg) {
				t.Errorf("configuration %+v, %v", cfg, err)
			}
		})
	}
}

func TestReady(t *testing.T) {
	r := embedded.Ready{
		URL: "http://127.0.0.1:1234", GRPC: "127.0.0.1:2", Temporal: "127.0.0.1:3", TemporalUI: "http://127.0.0.1:4",
		DataDir: "/d", Model: "builtin/scripted", PID: 7,
	}
	var b bytes.Buffer
	if err := writeReady(&b, "windlass", r, true); err != nil {
		t.Fatal(err)
	}
	var got embedded.Ready
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != r || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("ready line %q, %v", b.String(), err)
	}
	text := readyText("windlass", r)
	for _, want := range []string{
		"http://127.0.0.1:1234\n", "no AI", "OPENAI_API_KEY", "windlass chat --server http://127.0.0.1:1234",
		"http://127.0.0.1:1234/v1/sessions/$S/turns",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r.URL, r.Model, r.TemporalUI = "http://127.0.0.1:8080", "openai/gpt", ""
	if text := readyText("windlass", r); strings.Contains(text, "--server") || strings.Contains(text, "OPENAI") ||
		strings.Contains(text, "Temporal UI") {
		t.Errorf("ready text\n%s", text)
	}
}

func TestDaemon(t *testing.T) {
	for _, tc := range []struct {
		name     string
		args     []string
		env      []string
		code     int
		out, err string
	}{
		{name: "help lists the roles", args: []string{"--help"}, out: "  gateway    REST, event streams and the console\n"},
		{name: "no role", code: 2, err: "name at least one role"},
		{name: "an unknown role", args: []string{"sessions", "x"}, code: 2, err: `there is no role "x"`},
		{name: "no key", args: []string{"policy"}, code: 1, err: "mesh.key"},
		{
			name: "the reference", args: []string{"config", "--markdown"},
			out: "| `gateway.addr` | `WINDLASS_GATEWAY_ADDR` | string | `127.0.0.1:8080` |",
		},
		{name: "the sections of the reference", args: []string{"config"}, out: "bus           12 keys\n"},
		{name: "a section of the reference", args: []string{"config", "bus"}, out: "bus.url  (string)\n    default nats://127.0.0.1:4222\n"},
		{name: "the whole reference", args: []string{"config", "all"}, out: "bus.url  (string)\n"},
		{name: "version", args: []string{"version"}, out: `"version":"1.2.3"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			a := &app.App{Version: "1.2.3", Out: &out, Err: &errs, Environ: tc.env}
			code := a.Execute(t.Context(), Daemon(a), append([]string{}, tc.args...))
			if code != tc.code || !strings.Contains(out.String(), tc.out) || !strings.Contains(errs.String(), tc.err) {
				t.Errorf("%d\n%s\n%s", code, out.String(), errs.String())
			}
		})
	}
}

func TestEveryRoleIsExplained(t *testing.T) {
	var got []string
	for _, r := range roleTexts() {
		got = append(got, r[0])
	}
	want := append([]string{assembly.Bus}, assembly.AllRoles()...)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("roles %v, want %v", got, want)
	}
}

func TestDaemonServesARole(t *testing.T) {
	var errs bytes.Buffer
	ready := &readyWriter{line: make(chan []byte, 1)}
	a := &app.App{Out: ready, Err: &errs, Environ: []string{
		"WINDLASS_MESH_KEY=a-key-for-tests-that-is-long-enough-0123456789", "WINDLASS_MESH_LISTEN_POLICY=127.0.0.1:0",
		"WINDLASS_DATABASE_URL=sqlite:" + t.TempDir(),
	}}
	root := Daemon(a)
	done := make(chan int, 1)
	ctx, stop := contextOf(t)
	go func() { done <- a.Execute(ctx, root, []string{"policy"}) }()
	select {
	case line := <-ready.line:
		var got daemonReady
		if err := json.Unmarshal(line, &got); err != nil || !got.Ready || len(got.Roles) != 1 || got.PID == 0 || got.HTTP != "" {
			t.Errorf("ready line %s, %v", line, err)
		}
	case code := <-done:
		t.Fatalf("it ended with %d: %s", code, errs.String())
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
