package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

func keep(t testing.TB, b *bus.Bus) {
	t.Helper()
	err := b.EnsureKept(t.Context(), bus.KeptConfig{Name: "DELTAS", Subjects: []string{"delta.*"}, MaxAge: time.Hour, MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
}

func kept(t testing.TB, b *bus.Bus, subject string) []bus.KeptMsg {
	t.Helper()
	out, err := b.Kept(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fill publishes n messages to each of two subjects in turn and waits until they are kept.
func fill(t testing.TB, b *bus.Bus, n int) {
	t.Helper()
	for i := range n {
		publish(t, b, "delta.a", fmt.Sprintf("a%d", i))
		publish(t, b, "delta.b", fmt.Sprintf("b%d", i))
	}
	testpoll.Until(t, "the messages are kept", func() bool { return len(kept(t, b, "delta.b")) == n })
}

func TestKept(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := embedded(t)
			keep(t, b)
			if got := kept(t, b, "delta.a"); len(got) != 0 {
				t.Errorf("%d messages before any was sent", len(got))
			}
			fill(t, b, n)
			got := kept(t, b, "delta.a")
			for i, m := range got {
				if string(m.Data) != fmt.Sprintf("a%d", i) || m.Subject != "delta.a" || m.Time.IsZero() {
					t.Fatalf("message %d is %+v", i, m)
				}
			}
			if len(got) != n || !slices.IsSortedFunc(got, func(a, b bus.KeptMsg) int { return int(a.Seq) - int(b.Seq) }) {
				t.Errorf("%d messages, want %d in order", len(got), n)
			}
			if other := kept(t, b, "delta.c"); len(other) != 0 {
				t.Errorf("%d messages on another subject", len(other))
			}
		})
	}
}

func TestBigMessagesAreKeptToo(t *testing.T) {
	b := embedded(t)
	keep(t, b)
	big := strings.Repeat("x", 300<<10)
	for range 10 { // more than one response holds
		publish(t, b, "delta.a", big)
	}
	testpoll.Until(t, "the messages are kept", func() bool { return len(kept(t, b, "delta.a")) == 10 })
}

func TestNotKept(t *testing.T) {
	b := embedded(t)
	keep(t, b)
	if _, err := b.Kept(t.Context(), "elsewhere.a"); !errors.Is(err, bus.ErrNotKept) {
		t.Errorf("Kept = %v, want ErrNotKept", err)
	}
}

func TestKeptByAnotherConnection(t *testing.T) {
	host := open(t, bus.Config{URL: bus.Embedded, Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	keep(t, host)
	keep(t, host) // a second call changes nothing
	fill(t, host, 3)
	guest := open(t, bus.Config{URL: "nats://" + host.Addr()})
	for range 2 {
		if got := kept(t, guest, "delta.a"); len(got) != 3 {
			t.Errorf("%d messages", len(got))
		}
	}
}

func TestKeptSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	b := open(t, bus.Config{URL: bus.Embedded, Dir: dir})
	keep(t, b)
	fill(t, b, 10)
	closeBus(t, b)
	again := open(t, bus.Config{URL: bus.Embedded, Dir: dir})
	keep(t, again)
	if got := kept(t, again, "delta.a"); len(got) != 10 {
		t.Errorf("%d messages after the restart", len(got))
	}
}

func TestMemoryServerLeavesNoFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := open(t, bus.Config{URL: bus.Embedded})
	keep(t, b)
	fill(t, b, 10)
	closeBus(t, b)
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestKeptWhileAway(t *testing.T) {
	server := startServer(t, bus.ServerConfig{Listen: "127.0.0.1:0"})
	b := open(t, bus.Config{URL: server.URL()})
	keep(t, b)
	stopServer(t, server)
	testpoll.Until(t, "the connection is lost", func() bool { return !b.Connected() })
	if _, err := b.Kept(t.Context(), "delta.a"); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("Kept = %v, want ErrUnavailable", err)
	}
	closeBus(t, b)
}

func BenchmarkPublish(b *testing.B) {
	conn := embedded(b)
	data := make([]byte, 200)
	for b.Loop() {
		if err := conn.Publish("live.a", data); err != nil {
			b.Fatal(err)
		}
	}
	flush(b, conn)
}

// BenchmarkDelivery measures the time from Publish until the reader has the message.
func BenchmarkDelivery(b *testing.B) {
	conn := embedded(b)
	s := subscribe(b, conn, "live.a", 10)
	data := make([]byte, 200)
	for b.Loop() {
		if err := conn.Publish("live.a", data); err != nil {
			b.Fatal(err)
		}
		<-s.C()
	}
}

// BenchmarkKept reads 300 messages among 30,000.
func BenchmarkKept(b *testing.B) {
	conn := open(b, bus.Config{URL: bus.Embedded, Dir: b.TempDir()})
	keep(b, conn)
	data := make([]byte, 200)
	for i := range 30000 {
		if err := conn.Publish(fmt.Sprintf("delta.%d", i%100), data); err != nil {
			b.Fatal(err)
		}
	}
	testpoll.Until(b, "the messages are kept", func() bool { return len(kept(b, conn, "delta.99")) == 300 })
	for b.Loop() {
		_ = kept(b, conn, "delta.50")
	}
}

// TestReadingKeptMessagesTakesLittleMemory: by default the client makes a queue of half a MiB for each response.
func TestReadingKeptMessagesTakesLittleMemory(t *testing.T) {
	b := embedded(t)
	keep(t, b)
	fill(t, b, 3)
	var before, after runtime.MemStats
	const reads = 20
	runtime.ReadMemStats(&before)
	for range reads {
		kept(t, b, "delta.a")
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / reads; each > 64<<10 {
		t.Errorf("a response takes %d bytes", each)
	}
}

func TestKeptSince(t *testing.T) {
	b := embedded(t)
	keep(t, b)
	fill(t, b, 1000)
	all := kept(t, b, "delta.a")
	since := all[400].Time
	want := all[slices.IndexFunc(all, func(m bus.KeptMsg) bool { return !m.Time.Before(since) }):]
	got, err := b.KeptSince(t.Context(), "delta.a", since)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || string(got[0].Data) != string(want[0].Data) || string(got[len(got)-1].Data) != "a999" {
		t.Errorf("%d messages since %s, want %d", len(got), since, len(want))
	}
	if got, err := b.KeptSince(t.Context(), "delta.a", time.Now().Add(time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("%d messages since a time to come, %v", len(got), err)
	}
}

// A caller gives up on creating a stream and the embedded server stops: nothing keeps running. TestMain checks for leaks.
func TestAStreamThatNobodyWaitsForEndsWithItsServer(t *testing.T) {
	for n := range 40 {
		b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		made := make(chan struct{})
		go func() {
			defer close(made)
			_ = b.EnsureKept(ctx, bus.KeptConfig{Name: "DELTAS", Subjects: []string{"delta.*"}}) // may fail or succeed
		}()
		for range 50 * n {
			runtime.Gosched()
		}
		cancel()
		<-made
		if err := b.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
