// Package testnpm installs MCP servers that nobody here wrote, for tests: the protocol's reference servers, from npm.
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

// version is that of both servers.
const version = "2026.8.31"

// RequireEnv makes the lack of npm, or of its registry, a failure where it is "1"; else it skips the test.
const RequireEnv = "WINDLASS_REQUIRE_NPM"

// Program gives the command of "server-everything" or "server-filesystem", installing both once per user.
func Program(t testing.TB, name string) []string {
	t.Helper()
	program, err := program(t.Context(), name)
	switch {
	case err == nil:
		return program
	case os.Getenv(RequireEnv) == "1":
		t.Fatal(err)
	default:
		t.Skipf("%v (%s=1 makes this a failure)", err, RequireEnv)
	}
	return nil
}

func program(ctx context.Context, name string) ([]string, error) {
	if testing.Short() {
		return nil, errors.New("the npm servers are left out of short tests")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("there is no cache folder: %w", err)
	}
	dir := filepath.Join(cache, "windlass-test-npm", version)
	if _, err := os.Stat(dir); err != nil {
		if err := install(ctx, dir); err != nil {
			return nil, err
		}
	}
	return []string{node, filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")}, nil
}

// install fills a folder beside dir and renames it, as several tests may do so at once.
func install(ctx context.Context, dir string) error {
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
	const scope = "@modelcontextprotocol/"
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--prefix", temp,
		scope+"server-everything@"+version, scope+"server-filesystem@"+version)
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm cannot install the reference servers: %w: %s", err, out)
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil // ours, or that of a test that was faster
}

// Everything starts server-everything in a mode ("streamableHttp" or "sse") on a port, and waits until it listens. It is killed when
// the test ends, or by stop.
func Everything(t testing.TB, mode, address string) (stop func()) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	program := Program(t, "server-everything")
	cmd := exec.Command(program[0], program[1], mode)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // gone is fine
		_ = cmd.Wait()         // "signal: killed"
	})
	t.Cleanup(stop)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close() // it was a question only
			return stop
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("server-everything does not listen on %s", address)
		}
	}
}
