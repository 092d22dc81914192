package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

func TestStartsThatMustFail(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running := harness.Up(t, t.TempDir(), nil)
	for _, tc := range []struct {
		name, dir string
		args      []string
		code      int
		want      []string
	}{
		{"the directory is in use", running.DataDir, nil, 1, []string{"another windlass is running", running.DataDir, "--data-dir"}},
		{"the directory is below a file", filepath.Join(file, "data"), nil, 1, []string{file, "--data-dir"}},
		{
			"the HTTP port is taken", t.TempDir(),
			[]string{"--http-addr", taken.Addr().String()},
			1,
			[]string{taken.Addr().String(), "--http-addr"},
		},
		{
			"the gRPC port is taken", t.TempDir(),
			[]string{"--grpc-addr", taken.Addr().String()},
			1,
			[]string{taken.Addr().String(), "--grpc-addr"},
		},
		{"the Temporal port is taken", t.TempDir(), []string{"--temporal-addr", taken.Addr().String()}, 1, []string{"in use"}},
		{"an unknown flag", t.TempDir(), []string{"--data"}, 2, []string{"--data", "--help"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := harness.LaunchUp(t, tc.dir, nil, tc.args...)
			if code := p.Wait(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			said := strings.TrimSpace(p.Log())
			for _, want := range tc.want {
				if !strings.Contains(said, want) {
					t.Errorf("it said %q, want %q in it", said, want)
				}
			}
			if n := strings.Count(said, "\n"); n > 1 {
				t.Errorf("%d lines for one mistake: %s", n+1, said)
			}
		})
	}
	if code := running.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
}

func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	note := invoke(up.Client, "notes__create", harness.JSON{"title": "Groceries", "text": "buy saffron"})
	if note["is_error"] == true {
		t.Fatalf("notes__create = %v", note)
	}
	session := up.Client.Session("assistant")
	turn := up.Client.Turn(session, "say:remember this")
	before := up.Client.Wait(turn)
	events := up.Client.Watch("/v1/turns/" + turn + "/events").End()
	if code := up.Stop(); code != 0 {
		t.Fatalf("a clean stop exits with %d", code)
	}

	up = harness.Up(t, dir, nil)
	found := invoke(up.Client, "notes__search", harness.JSON{"query": "saffron"})
	if content, _ := found["content"].([]any); len(content) == 0 || !strings.Contains(text(content), "Groceries") {
		t.Errorf("the note is gone: %v", found)
	}
	after := up.Client.Must("GET", "/v1/turns/"+turn, nil)
	if before.Str("output") != after.Str("output") || after.Str("output") != "remember this" {
		t.Errorf("the turn was %v and is %v", before, after)
	}
	again := up.Client.Watch("/v1/turns/" + turn + "/events").End()
	harness.CheckStream(t, again)
	if len(harness.Durables(events)) != len(harness.Durables(again)) {
		t.Errorf("%d durable events before, %d after", len(harness.Durables(events)), len(harness.Durables(again)))
	}
	if end := up.Client.Wait(up.Client.Turn(session, "say:and this")); end.Str("output") != "and this" {
		t.Errorf("the next turn of the session: %v", end)
	}
	if code := up.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
}

// A stop hands a running turn over to the next start.
func TestStopWithATurnInFlight(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	reached := make(chan struct{}, 16)
	model := harness.NewModel(t, func(int, []any) harness.Answer {
		return harness.Answer{Words: strings.SplitAfter("first second third", " "), Stop: func(sent int, done <-chan struct{}) {
			if sent != 1 {
				return
			}
			reached <- struct{}{}
			select {
			case <-hold:
			case <-done:
			}
		}}
	})
	dir := t.TempDir()
	up := harness.Up(t, dir, model.Env())
	session := up.Client.Session("assistant")
	turn := up.Client.Turn(session, "hello")
	watcher := up.Client.Watch("/v1/turns/" + turn + "/events")
	<-reached
	watcher.UntilType("message.delta")
	begin := time.Now()
	if code := up.Stop(); code != 0 {
		t.Errorf("a stop in mid-turn exits with %d", code)
	}
	t.Logf("stopped in mid-turn within %v", time.Since(begin).Round(time.Millisecond))
	close(hold)
	begin = time.Now()
	up = harness.Up(t, dir, model.Env(), "--http-addr", strings.TrimPrefix(up.Client.Base, "http://"))
	end := up.Client.Wait(turn)
	t.Logf("ended %v after the next start began", time.Since(begin).Round(time.Millisecond))
	if end.Str("status") != "completed" || end.Str("output") != "first second third" {
		t.Errorf("turn = %v", end)
	}
	harness.CheckStream(t, watcher.End())
}
