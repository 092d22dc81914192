// Package tilt runs the Tiltfile with stand-ins for Tilt's built-ins and checks that what it names exists.
package tilt

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/windlass-dev/windlass/internal/assembly"
)

const root = "../.."

type resource struct {
	cmd, serve string
	deps, on   []string
	probe      bool
	manual     bool
	links      int
	env        map[string]string
}

// run executes the Tiltfile as `tilt up` does and gives the resources it declares.
func run(t *testing.T) map[string]resource {
	t.Helper()
	return runAs(t, "up")
}

// runAs executes the Tiltfile as the given command of Tilt does.
func runAs(t *testing.T, command string) map[string]resource {
	t.Helper()
	out := map[string]resource{}
	declare := func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		name, _ := starlark.AsString(args[0])
		r := resource{env: map[string]string{}}
		for _, kv := range kwargs {
			key, _ := starlark.AsString(kv[0])
			switch key {
			case "cmd":
				r.cmd, _ = starlark.AsString(kv[1])
			case "serve_cmd":
				r.serve, _ = starlark.AsString(kv[1])
			case "deps":
				r.deps = texts(kv[1])
			case "resource_deps":
				r.on = texts(kv[1])
			case "readiness_probe":
				r.probe = true
			case "links":
				r.links = len(texts(kv[1]))
			case "serve_env":
				for _, item := range kv[1].(*starlark.Dict).Items() {
					k, _ := starlark.AsString(item[0])
					r.env[k], _ = starlark.AsString(item[1])
				}
			case "auto_init":
				r.manual = !bool(kv[1].Truth())
			case "env", "ignore", "labels", "trigger_mode":
			default:
				t.Errorf("resource %s: local_resource has no parameter %q", name, key)
			}
		}
		if _, twice := out[name]; twice {
			t.Errorf("resource %s is declared twice", name)
		}
		out[name] = r
		return starlark.None, nil
	}
	anything := func(_ *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return starlark.String(b.Name()), nil
	}
	getenv := func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var name string
		var def starlark.Value = starlark.None
		err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name, "default?", &def)
		return def, err
	}
	env := starlark.StringDict{
		"local_resource": starlark.NewBuiltin("local_resource", declare),
		"os": starlarkstruct.FromStringDict(starlarkstruct.Default,
			starlark.StringDict{"getenv": starlark.NewBuiltin("getenv", getenv)}),
		"TRIGGER_MODE_MANUAL": starlark.String("manual"),
	}
	env["config"] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"tilt_subcommand": starlark.String(command)})
	for _, name := range []string{"probe", "tcp_socket_action", "http_get_action", "link", "update_settings"} {
		env[name] = starlark.NewBuiltin(name, anything)
	}
	opts := &syntax.FileOptions{TopLevelControl: true}
	if _, err := starlark.ExecFileOptions(opts, &starlark.Thread{Name: "tilt"}, filepath.Join(root, "Tiltfile"), nil, env); err != nil {
		t.Fatal(err)
	}
	return out
}

func texts(v starlark.Value) []string {
	var out []string
	list, ok := v.(starlark.Iterable)
	if !ok {
		return nil
	}
	it := list.Iterate()
	defer it.Done()
	var item starlark.Value
	for it.Next(&item) {
		s, _ := starlark.AsString(item)
		out = append(out, s)
	}
	return out
}

func TestEveryRoleIsAResource(t *testing.T) {
	resources := run(t)
	for _, role := range append(assembly.AllRoles(), assembly.Bus) {
		r, ok := resources[role]
		if !ok {
			t.Errorf("role %s has no resource", role)
			continue
		}
		if !strings.HasSuffix(r.serve, " "+role) || !r.probe {
			t.Errorf("role %s: serve_cmd %q, probe %v", role, r.serve, r.probe)
		}
	}
	for _, name := range []string{"temporal", "smoke", "generate"} {
		if _, ok := resources[name]; !ok {
			t.Errorf("resource %s is missing", name)
		}
	}
	if resources["gateway"].links < 3 {
		t.Error("gateway should link to the console, the OpenAPI document and the Temporal UI")
	}
}

func TestWhatTheTiltfileNamesExists(t *testing.T) {
	resources := run(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, k := range assembly.Keys() {
		known[k.Env] = true
	}
	target := regexp.MustCompile(`make ([a-z/-]+)`)
	pkg := regexp.MustCompile(`\./(cmd/[a-z]+|examples)`)
	for name, r := range resources {
		for _, d := range r.deps {
			if _, err := os.Stat(filepath.Join(root, d)); err != nil && !strings.HasPrefix(d, "bin/") {
				t.Errorf("%s: dependency %s does not exist", name, d)
			}
		}
		for _, on := range r.on {
			if _, ok := resources[on]; !ok {
				t.Errorf("%s depends on %s, which is no resource", name, on)
			}
		}
		for _, m := range target.FindAllStringSubmatch(r.cmd, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: make has no target %s", name, m[1])
			}
		}
		for _, m := range pkg.FindAllStringSubmatch(r.cmd, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %s does not exist", name, m[1])
			}
		}
		for k := range r.env {
			if !known[k] {
				t.Errorf("%s: there is no setting %s", name, k)
			}
		}
	}
	if slices.Contains(resources["gateway"].on, "gateway") {
		t.Error("gateway waits for itself")
	}
}

// `tilt ci` runs every resource that starts by itself; without the smoke turn it would prove only that ports are open.
func TestCIRunsATurn(t *testing.T) {
	if !run(t)["smoke"].manual {
		t.Error("tilt up runs the smoke turn unasked")
	}
	if runAs(t, "ci")["smoke"].manual {
		t.Error("tilt ci does not run the smoke turn")
	}
}

// A change in a package must restart the roles that contain it.
func TestRolesWatchWhatTheyAreMadeOf(t *testing.T) {
	resources := run(t)
	for _, role := range assembly.AllRoles() {
		for _, shared := range []string{"cmd/windlassd", "internal", "libs", "proto/gen", "go.mod", "go.sum"} {
			if !slices.Contains(resources[role].deps, shared) {
				t.Errorf("%s does not watch %s", role, shared)
			}
		}
		if _, err := os.Stat(filepath.Join(root, "services", role)); err != nil {
			continue // the gateway and the worker are folders of their own
		}
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./services/"+role+"/...")
		list.Dir = root
		packages, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for pkg := range strings.FieldsSeq(string(packages)) {
			dir, own := strings.CutPrefix(pkg, "github.com/windlass-dev/windlass/")
			if own && !slices.ContainsFunc(resources[role].deps, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") }) {
				t.Errorf("%s is made of %s and does not watch it", role, dir)
			}
		}
	}
}

func TestBridgeFindsTheExamples(t *testing.T) {
	resources := run(t)
	dir := resources["mcpbridge"].env["WINDLASS_MCPBRIDGE_COMMAND_PATH"]
	if dir != "bin/examples" || resources["examples"].cmd != "make examples" {
		t.Errorf("the bridge looks in %q, the examples are built by %q", dir, resources["examples"].cmd)
	}
	if !slices.Contains(resources["mcpbridge"].on, "examples") {
		t.Error("the bridge does not wait for the examples")
	}
}

// TestTemporalKnowsItsClients: other accounts of the machine find nothing at Temporal's ports.
func TestTemporalKnowsItsClients(t *testing.T) {
	resources := run(t)
	const ca = ".windlass/tilt/temporal/ca.pem"
	if serve := resources["temporal"].serve; !strings.Contains(serve, " --tls-ca "+ca+" ") || !strings.Contains(serve, " --ui-port 8234 ") {
		t.Errorf("temporal is served by %q", serve)
	}
	for _, role := range assembly.AllRoles() {
		if got := resources[role].env["WINDLASS_TEMPORAL_TLS_CA"]; got != ca {
			t.Errorf("%s accepts Temporal's certificates of %q", role, got)
		}
	}
}
