//go:build unix

package devserver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
)

// serves is a program that serves until it is asked to stop, or its parent closes its standard input.
const serves = `trap 'exit 0' TERM
echo starting
echo '{"ready":false}'
printf '{"ready":true,"address":"127.0.0.1:7233","ui":"https://127.0.0.1:8233","pid":%d}\n' $$
read -r _
`

// program writes a shell script in place of the server, which records its arguments and its environment, and how often it starts.
func program(t *testing.T, script string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, Program)
	text := "#!/bin/sh\ncd " + dir + "\necho \"$@\" >> arguments\nenv > environment\n" + script
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

func config(path string) Config {
	return Config{
		Path: path, Addr: "127.0.0.1:0", UIAddr: "127.0.0.1:0", CodecEndpoint: "http://127.0.0.1:8080/codec", File: "/data/temporal.db",
		Log: slog.New(slog.DiscardHandler),
	}
}

// started returns a server that runs a script, and the script's folder.
func started(t *testing.T, script string) (s *Server, dir string) {
	t.Helper()
	path, dir := program(t, script)
	s, err := Start(t.Context(), config(path))
	testwant.Equal(t, "the error of Start", err, nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Stop(ctx)
	})
	return s, dir
}

// running reports whether a process exists.
func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestAServerStartsAndStops(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("TZ", "UTC")
	s, dir := started(t, serves)
	testwant.Equal(t, "the address", s.Address(), "127.0.0.1:7233")
	testwant.Equal(t, "the UI", s.UI(), "https://127.0.0.1:8233")
	testwant.Equal(t, "it runs", running(s.PID()), true)
	testwant.Equal(t, "the arguments", string(testwant.Must(os.ReadFile(filepath.Join(dir, "arguments")))),
		"--ip 127.0.0.1 --port 0 --db-filename /data/temporal.db --exit-with-parent --ui-ip 127.0.0.1 --ui-port 0\n")
	env := string(testwant.Must(os.ReadFile(filepath.Join(dir, "environment"))))
	if strings.Contains(env, "sk-secret") || !strings.Contains(env, "TEMPORAL_CODEC_ENDPOINT=http://127.0.0.1:8080/codec\n") ||
		!strings.Contains(env, "TZ=UTC\n") {
		t.Errorf("its environment is\n%s", env)
	}
	pid := s.PID()
	testwant.Equal(t, "the error of Stop", s.Stop(t.Context()), nil)
	testwant.Equal(t, "it runs after Stop", running(pid), false)
	testwant.Equal(t, "the error of a second Stop", s.Stop(t.Context()), nil)
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	s, dir := started(t, serves)
	pid := s.PID()
	testwant.Equal(t, "the error of Kill", syscall.Kill(pid, syscall.SIGKILL), nil)
	testpoll.Until(t, "another process", func() bool { return s.PID() != pid })
	calls := strings.Split(strings.TrimSpace(string(testwant.Must(os.ReadFile(filepath.Join(dir, "arguments"))))), "\n")
	testwant.Len(t, "starts", calls, 2)
	for _, same := range []string{"--ip 127.0.0.1 --port 7233 ", "--ui-ip 127.0.0.1 --ui-port 8233"} { // where clients know it
		if !strings.Contains(calls[1]+" ", same) {
			t.Errorf("the second start is %s, without %s", calls[1], same)
		}
	}
	testwant.Equal(t, "the address", s.Address(), "127.0.0.1:7233")
}

// TestAServerThatDoesNotStartAgainIsTriedAgain: the second start fails, the third one serves.
func TestAServerThatDoesNotStartAgainIsTriedAgain(t *testing.T) {
	s, dir := started(t, `if [ "$(wc -l < arguments)" -eq 2 ]; then echo no luck >&2; exit 1; fi
`+serves)
	pid := s.PID()
	testwant.Equal(t, "the error of Kill", syscall.Kill(pid, syscall.SIGKILL), nil)
	testpoll.Until(t, "another process", func() bool { return s.PID() != pid })
	testwant.Equal(t, "starts", strings.Count(string(testwant.Must(os.ReadFile(filepath.Join(dir, "arguments")))), "\n"), 3)
}

func TestStopEndsStartsThatAreUnderWay(t *testing.T) {
	s, dir := started(t, `if [ "$(wc -l < arguments)" -gt 1 ]; then trap 'exit 0' TERM; touch second; read -r _; exit 0; fi
`+serves)
	testwant.Equal(t, "the error of Kill", syscall.Kill(s.PID(), syscall.SIGKILL), nil)
	testpoll.Until(t, "a second start", func() bool { _, err := os.Stat(filepath.Join(dir, "second")); return err == nil })
	testwant.Equal(t, "the error of Stop", s.Stop(t.Context()), nil)
}

// TestStopKillsWhatDoesNotStop: also where the time for it is over before Stop is called.
func TestStopKillsWhatDoesNotStop(t *testing.T) {
	for range 10 { // the order of two events must not matter
		s, _ := started(t, strings.Replace(serves, "'exit 0'", "''", 1))
		pid := s.PID()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		testwant.Equal(t, "the error of Stop", s.Stop(ctx), context.Canceled)
		testwant.Equal(t, "it runs", running(pid), false)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	for _, tc := range []struct{ name, script, err string }{
		{"without a message", "exit 3\n", "the Temporal server does not start: it ended without a word"},
		{"with one", "echo 'no disk' >&2; exit 1\n", "the Temporal server does not start: no disk"},
		{"with many lines", "for i in 1 2 3 4 5 6; do echo line $i >&2; echo >&2; done\n", "line 3; line 4; line 5; line 6"},
		{"with a message without an end", "printf 'a\\nb' >&2\n", "the Temporal server does not start: a; b"},
		{"with a success", "echo '{\"ready\":false}'\n", "it ended without a word"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, _ := program(t, tc.script)
			_, err := Start(t.Context(), config(path))
			if err == nil || !strings.HasSuffix(err.Error(), tc.err) {
				t.Errorf("the error is %v, want %s", err, tc.err)
			}
		})
	}
}

// TestADatabaseInUseIsWaitedFor: the child of a killed parent stops by itself.
func TestADatabaseInUseIsWaitedFor(t *testing.T) {
	const busy = "another server (pid 7) uses the database"
	s, dir := started(t, `if [ "$(wc -l < arguments)" -lt 3 ]; then echo '`+busy+`' >&2; exit 1; fi
`+serves)
	testwant.Equal(t, "it runs", running(s.PID()), true)
	testwant.Equal(t, "starts", strings.Count(string(testwant.Must(os.ReadFile(filepath.Join(dir, "arguments")))), "\n"), 3)

	path, dir := program(t, "echo '"+busy+"' >&2; exit 1\n")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Start(ctx, config(path)); done <- err }()
	testpoll.Until(t, "a second start", func() bool {
		raw, _ := os.ReadFile(filepath.Join(dir, "arguments"))
		return strings.Count(string(raw), "\n") > 1
	})
	cancel()
	testwant.Equal(t, "one that stays in use ends with its context", errors.Is(<-done, context.Canceled), true)
}

func TestAServerThatIsNotReadyInTimeIsEnded(t *testing.T) {
	path, dir := program(t, "trap '' TERM\necho $$ > pid\nread -r _\n")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Start(ctx, config(path)); done <- err }()
	pid := 0
	testpoll.Until(t, "a process", func() bool {
		raw, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return pid != 0
	})
	cancel()
	err := <-done
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the Temporal server is not ready") {
		t.Errorf("the error is %v", err)
	}
	testwant.Equal(t, "it runs", running(pid), false)
}

func TestWrongAddressesAndPrograms(t *testing.T) {
	path, _ := program(t, serves)
	for _, tc := range []struct {
		name   string
		change func(*Config)
		err    string
	}{
		{"an address without a port", func(c *Config) { c.Addr = "127.0.0.1" }, `temporal address "127.0.0.1": want host:port`},
		{"such an address of the UI", func(c *Config) { c.UIAddr = "::1" }, `temporal UI address "::1": want host:port`},
		{"no program", func(c *Config) { c.Path = "/nowhere/temporal" }, "start /nowhere/temporal: "},
	} {
		c := config(path)
		tc.change(&c)
		if _, err := Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestWhereTheProgramIsFound(t *testing.T) {
	path, dir := program(t, serves)
	t.Setenv("PATH", t.TempDir())
	_, err := find("")
	if err == nil || !strings.Contains(err.Error(), "neither beside this program nor on PATH: run `make build`") {
		t.Errorf("where it is not: %v", err)
	}
	t.Setenv("PATH", dir)
	testwant.Equal(t, "on PATH", testwant.Must(find("")), path)
	testwant.Equal(t, "as configured", testwant.Must(find("/opt/temporal")), "/opt/temporal")
}

func TestCertificatesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		go Renew(ctx, dir, secret.New(oneKey), slog.New(slog.DiscardHandler))
		written := func() bool {
			synctest.Wait()
			_, err := os.Stat(InDir(dir).Client)
			return err == nil
		}
		time.Sleep(renewEvery - time.Second)
		testwant.Equal(t, "they are written early", written(), false)
		for range 2 {
			time.Sleep(renewEvery)
			testwant.Equal(t, "they are written", written(), true)
			testwant.Equal(t, "the error of Remove", os.Remove(InDir(dir).Client), nil)
		}
		cancel()
		synctest.Wait()
	})
}

// TestRenewalsThatFailAreTriedAgain: the certificates of before are valid for a while.
func TestRenewalsThatFailAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "temporal")
		testwant.Equal(t, "the error of WriteFile", os.WriteFile(file, nil, 0o600), nil)
		ctx, cancel := context.WithCancel(t.Context())
		var said strings.Builder
		go Renew(ctx, file, secret.New(oneKey), slog.New(slog.NewTextHandler(&said, nil)))
		time.Sleep(2*renewEvery + time.Second)
		synctest.Wait()
		testwant.Equal(t, "messages", strings.Count(said.String(), "cannot be renewed"), 2)
		testwant.Equal(t, "the error of Remove", os.Remove(file), nil)
		time.Sleep(renewEvery)
		synctest.Wait()
		_, err := os.Stat(InDir(file).CA)
		testwant.Equal(t, "the error of the file afterwards", err, nil)
		cancel()
		synctest.Wait()
	})
}
