// Package testnpm installs third-party npm packages for tests: MCP's reference servers and an agent framework.
package testnpm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// version is the version of all servers.
const version = "2026.8.31"

// agents is the version of the OpenAI Agents SDK.
const agents = "0.20.0"

// RequireEnv names the variable that, set to "1", turns a missing npm or registry into a failure; otherwise the test is skipped.
const RequireEnv = "WINDLASS_REQUIRE_NPM"

// proxy is the version of what serves a stdio server over HTTP.
const proxy = "6.7.19"

// Program returns the command of "server-everything", "server-filesystem" or "server-memory", and installs them once per user.
func Program(t testing.TB, name string) []string {
	t.Helper()
	const scope = "@modelcontextprotocol/"
	node, dir, err := packages(t.Context(), "servers-"+version, scope+"server-everything@"+version, scope+"server-filesystem@"+version,
		scope+"server-memory@"+version)
	orSkip(t, err)
	return []string{node, filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")}
}

// OpenAIAgents returns node and a folder with the OpenAI Agents SDK in its node_modules, and installs it once per user.
func OpenAIAgents(t testing.TB) (node, dir string) {
	t.Helper()
	node, dir, err := packages(t.Context(), "openai-agents-"+agents, "@openai/agents@"+agents)
	orSkip(t, err)
	return node, dir
}

// Versions of the conformance suite of MCP: the released one, and the one that knows protocol 2026-07-28. They need a newer Node.js than
// many machines have, which comes as a package.
const (
	conformance     = "0.1.16"
	conformanceNext = "0.2.0-alpha.12"
	nodeMajor       = "22"
)

// Conformance returns the command of the released conformance suite of MCP and of the next one, and a folder whose node_modules has the
// TypeScript SDK of MCP. It installs them once per user.
func Conformance(t testing.TB) (suite, next []string, sdk string) {
	t.Helper()
	const name = "@modelcontextprotocol/conformance"
	_, dir, err := packages(t.Context(), "conformance-"+conformance, name+"@"+conformance, "node@"+nodeMajor)
	orSkip(t, err)
	_, later, err := packages(t.Context(), "conformance-"+conformanceNext, name+"@"+conformanceNext)
	orSkip(t, err)
	node := filepath.Join(dir, "node_modules", ".bin", "node")
	program := filepath.Join("node_modules", name, "dist", "index.js")
	return []string{node, filepath.Join(dir, program)}, []string{node, filepath.Join(later, program)}, dir
}

// inspector is the version of the MCP Inspector.
const inspector = "2.12.0"

// Inspector returns the command of the MCP Inspector's command line, and installs it once per user.
func Inspector(t testing.TB) []string {
	t.Helper()
	suite, _, _ := Conformance(t) // for its Node.js
	_, dir, err := packages(t.Context(), "inspector-"+inspector, "@modelcontextprotocol/inspector@"+inspector)
	orSkip(t, err)
	return []string{suite[0], filepath.Join(dir, "node_modules", ".bin", "mcp-inspector"), "--cli"}
}

// Versions of what reads the OpenAPI document.
const (
	redocly    = "2.77.0"
	openapiTS  = "0.99.0"
	typescript = "5.9.3"
)

// OpenAPI returns node and a folder with Redocly's linter, hey-api's generator of clients and the TypeScript compiler in its
// node_modules, and installs them once per user.
func OpenAPI(t testing.TB) (node, dir string) {
	t.Helper()
	node, dir, err := packages(t.Context(), "openapi-"+redocly+"-"+openapiTS+"-"+typescript,
		"@redocly/cli@"+redocly, "@hey-api/openapi-ts@"+openapiTS, "typescript@"+typescript)
	orSkip(t, err)
	return node, dir
}

// Versions of what drives a browser and checks its pages.
const (
	playwright = "1.65.1"
	axe        = "4.14.1"
)

// Browser returns node, Chromium and a folder with playwright-core and axe-core in its node_modules, and installs those once per user.
func Browser(t testing.TB) (node, chromium, dir string) {
	t.Helper()
	node, dir, err := packages(t.Context(), "browser-"+playwright+"-"+axe, "playwright-core@"+playwright, "axe-core@"+axe)
	orSkip(t, err)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			return node, chromium, dir
		}
	}
	orSkip(t, errors.New("no Chromium is installed"))
	return "", "", ""
}

// tus is the version of the client of the tus protocol.
const tus = "4.3.1"

// Tus returns node and a folder with tus-js-client in its node_modules, and installs it once per user.
func Tus(t testing.TB) (node, dir string) {
	t.Helper()
	node, dir, err := packages(t.Context(), "tus-"+tus, "tus-js-client@"+tus)
	orSkip(t, err)
	return node, dir
}

func orSkip(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv(RequireEnv) == "1":
		t.Fatal(err)
	default:
		t.Skipf("%v (%s=1 makes this a failure)", err, RequireEnv)
	}
}

// Node returns node alone.
func Node(t testing.TB) (node string) {
	t.Helper()
	node, err := exec.LookPath("node")
	orSkip(t, err)
	return node
}

// packages returns node and a folder with the packages installed.
func packages(ctx context.Context, name string, specs ...string) (node, dir string, err error) {
	if testing.Short() {
		return "", "", errors.New("what needs npm is left out of short tests")
	}
	if node, err = exec.LookPath("node"); err != nil {
		return "", "", errors.New("node is not installed")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", fmt.Errorf("there is no cache folder: %w", err)
	}
	dir = filepath.Join(cache, "windlass-test-npm", name)
	if _, err := os.Stat(dir); err != nil {
		if err := install(ctx, dir, specs); err != nil {
			return "", "", err
		}
	}
	return node, dir, nil
}

// install fills a folder beside dir and renames it, since several tests may do so at once.
func install(ctx context.Context, dir string, specs []string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is not installed")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, append([]string{"install", "--no-audit", "--no-fund", "--prefix", temp}, specs...)...)
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm cannot install %v: %w: %s", specs, err, out)
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil // ours, or that of a faster test
}

// Everything starts server-everything in a mode ("streamableHttp" or "sse") on a port, and waits until it listens. It is killed when the
// test ends, or by stop.
func Everything(t testing.TB, mode, address string) (stop func()) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return listening(t, address, []string{"PORT=" + port}, append(Program(t, "server-everything"), mode))
}

// Proxy serves a stdio server at an address, over streamable HTTP at /mcp and over SSE at /sse, and waits until it listens. It is killed
// when the test ends, or by stop.
func Proxy(t testing.TB, address string, env []string, command ...string) (stop func()) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	node, dir, err := packages(t.Context(), "mcp-proxy-"+proxy, "mcp-proxy@"+proxy)
	orSkip(t, err)
	program := filepath.Join(dir, "node_modules", ".bin", "mcp-proxy")
	return listening(t, address, env, append([]string{node, program, "--host", host, "--port", port, "--"}, command...))
}

// listening starts a program and waits until it listens.
func listening(t testing.TB, address string, env, command []string) (stop func()) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // may already be gone
		_ = cmd.Wait()         // "signal: killed"
	})
	t.Cleanup(stop)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close() // only a probe
			return stop
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%v does not listen on %s", command, address)
		}
	}
}
