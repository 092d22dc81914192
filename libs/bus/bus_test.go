package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// patience bounds each wait; a passing test never waits that long.
const patience = time.Minute

func testKey() []byte { return []byte("the key of the processes of a test") }

func open(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	if cfg.Key == nil {
		cfg.Key = testKey()
	}
	b, err := bus.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

func embedded(t testing.TB) *bus.Bus { return open(t, bus.Config{URL: bus.Embedded}) }

// each runs a test on a bus confined to this process and on one that others could join.
func each(t *testing.T, f func(t *testing.T, b *bus.Bus)) {
	t.Helper()
	t.Run("within the process", func(t *testing.T) { f(t, embedded(t)) })
	t.Run("through the server", func(t *testing.T) { f(t, open(t, bus.Config{URL: bus.Embedded, Listen: "127.0.0.1:0"})) })
}

func closeBus(t testing.TB, b *bus.Bus) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

func subscribe(t testing.TB, b *bus.Bus, subject string, buf int) *bus.Subscription {
	t.Helper()
	s, err := b.Subscribe(subject, buf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	flush(t, b)
	return s
}

func flush(t testing.TB, b *bus.Bus) {
	t.Helper()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func publish(t testing.TB, b *bus.Bus, subject, data string) {
	t.Helper()
	if err := b.Publish(subject, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

// next returns the subscription's next message, or false if its channel was closed.
func next(t testing.TB, s *bus.Subscription) (bus.Msg, bool) {
	t.Helper()
	select {
	case m, ok := <-s.C():
		return m, ok
	case <-time.After(patience):
		t.Fatal("no message came")
		return bus.Msg{}, false
	}
}

func TestPublishSubscribe(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		one, all := subscribe(t, b, "live.a", 10), subscribe(t, b, "live.*", 10)
		publish(t, b, "live.a", "1")
		publish(t, b, "live.b", "2")
		if m, _ := next(t, one); string(m.Data) != "1" || m.Subject != "live.a" {
			t.Errorf("one got %+v", m)
		}
		for _, want := range []string{"1", "2"} {
			if m, _ := next(t, all); string(m.Data) != want {
				t.Errorf("all got %+v, want %s", m, want)
			}
		}
	})
}

func TestClosedSubscription(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		s := subscribe(t, b, "x", 1)
		s.Close()
		s.Close()
		if _, ok := next(t, s); ok || !errors.Is(s.Err(), bus.ErrClosed) || s.Overflowed() {
			t.Errorf("open %v, err %v", ok, s.Err())
		}
	})
}

// A slow reader loses its subscription without slowing the publisher or another reader.
func TestSlowReaderIsCutOff(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		slow, quick := subscribe(t, b, "x", 10), subscribe(t, b, "x", 1000)
		for i := range 500 {
			publish(t, b, "x", fmt.Sprint(i))
		}
		for i := range 500 {
			if m, _ := next(t, quick); string(m.Data) != fmt.Sprint(i) {
				t.Fatalf("quick reader got %q, want %d", m.Data, i)
			}
		}
		got := 0
		for {
			m, ok := next(t, slow)
			if !ok {
				break
			}
			if string(m.Data) != fmt.Sprint(got) {
				t.Fatalf("slow reader got %q, want %d", m.Data, got)
			}
			got++
		}
		if got != 10 || !slow.Overflowed() {
			t.Errorf("slow reader got %d, %v", got, slow.Err())
		}
	})
}

func TestQueueGroupSharesMessages(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		var mu sync.Mutex
		got := map[string]int{}
		done := make(chan struct{}, 200)
		for range 3 {
			w, err := b.QueueSubscribe("work", "workers", func(m bus.Msg) {
				mu.Lock()
				got[string(m.Data)]++
				mu.Unlock()
				done <- struct{}{}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
		}
		flush(t, b)
		for i := range 100 {
			publish(t, b, "work", fmt.Sprint(i))
		}
		for range 100 {
			<-done
		}
		mu.Lock()
		defer mu.Unlock()
		for id, n := range got {
			if n != 1 {
				t.Errorf("message %s was handled %d times", id, n)
			}
		}
		if len(got) != 100 {
			t.Errorf("%d messages", len(got))
		}
	})
}

func TestTwoConnectionsShareAServer(t *testing.T) {
	host := open(t, bus.Config{URL: bus.Embedded, Listen: "127.0.0.1:0"})
	if !strings.HasPrefix(host.Addr(), "127.0.0.1:") || strings.HasSuffix(host.Addr(), ":0") {
		t.Fatalf("Addr = %q", host.Addr())
	}
	guest := open(t, bus.Config{URL: "nats://" + host.Addr()})
	s := subscribe(t, guest, "x", 1)
	publish(t, host, "x", "hi")
	if m, _ := next(t, s); string(m.Data) != "hi" {
		t.Errorf("got %+v", m)
	}
	if !guest.Connected() || !host.Connected() {
		t.Error("both are connected")
	}
}

func TestInProcessServerDoesNotListen(t *testing.T) {
	if addr := embedded(t).Addr(); addr != "" {
		t.Errorf("it listens at %s", addr)
	}
}

// A server restarts at the same address: publishing fails at once meanwhile, and readers learn of the gap.
func TestServerRestart(t *testing.T) {
	server := startServer(t, bus.ServerConfig{Listen: "127.0.0.1:0"})
	addr := server.Addr()
	b := open(t, bus.Config{URL: server.URL()})
	s := subscribe(t, b, "x", 10)
	worker := make(chan bus.Msg, 10)
	w, err := b.QueueSubscribe("x", "q", func(m bus.Msg) { worker <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	first, connected := b.Connection()
	if !connected {
		t.Error("there is no connection")
	}
	stopServer(t, server)
	testpoll.Until(t, "the connection is lost", func() bool { return !b.Connected() })
	if _, connected := b.Connection(); connected {
		t.Error("there is a connection to a stopped server")
	}
	begin := time.Now()
	if err := b.Publish("x", []byte("lost")); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("Publish = %v, want ErrUnavailable", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("Publish took %v", took)
	}
	server = startServer(t, bus.ServerConfig{Listen: addr})
	if _, ok := next(t, s); ok || !errors.Is(s.Err(), bus.ErrGap) || s.Overflowed() {
		t.Errorf("after the gap: open %v, err %v", ok, s.Err())
	}
	if n, connected := b.Connection(); !connected || n <= first {
		t.Errorf("connection %d after %d, connected %v", n, first, connected)
	}
	again := subscribe(t, b, "x", 10)
	publish(t, b, "x", "new")
	if m, _ := next(t, again); string(m.Data) != "new" {
		t.Errorf("got %+v", m)
	}
	if m := <-worker; string(m.Data) != "new" {
		t.Errorf("the worker got %+v", m)
	}
	closeBus(t, b)
	stopServer(t, server)
}

func TestServerThatIsNotThereYet(t *testing.T) {
	first := startServer(t, bus.ServerConfig{Listen: "127.0.0.1:0"})
	addr := first.Addr()
	stopServer(t, first)
	b := open(t, bus.Config{URL: "nats://" + addr})
	if err := b.Publish("x", nil); !errors.Is(err, bus.ErrUnavailable) || b.Connected() {
		t.Errorf("Publish = %v", err)
	}
	s, err := b.Subscribe("x", 1)
	if err != nil {
		t.Fatal(err)
	}
	second := startServer(t, bus.ServerConfig{Listen: addr})
	testpoll.Until(t, "the connection is back", b.Connected)
	flush(t, b)
	publish(t, b, "x", "hi")
	if m, ok := next(t, s); !ok || string(m.Data) != "hi" {
		t.Errorf("got %+v, %v", m, s.Err())
	}
	closeBus(t, b)
	stopServer(t, second)
}

func TestClosedBus(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		s, err := b.Subscribe("x", 1)
		if err != nil {
			t.Fatal(err)
		}
		closeBus(t, b)
		closeBus(t, b)
		if _, ok := next(t, s); ok || !errors.Is(s.Err(), bus.ErrClosed) {
			t.Errorf("subscription: open %v, err %v", ok, s.Err())
		}
		if err := b.Publish("x", nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Publish = %v", err)
		}
		if _, err := b.Subscribe("x", 1); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Subscribe = %v", err)
		}
		if _, err := b.QueueSubscribe("x", "q", func(bus.Msg) {}); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("QueueSubscribe = %v", err)
		}
	})
}

func startServer(t testing.TB, cfg bus.ServerConfig) *bus.Server {
	t.Helper()
	if cfg.Key == nil {
		cfg.Key = testKey()
	}
	s, err := bus.StartServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopServer(t, s) })
	return s
}

func stopServer(t testing.TB, s *bus.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("stop server: %v", err)
	}
}

// Each group gets every message once, as does each subscriber without a group; a member that left gets none.
func TestGroupsSideBySide(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		got := make(chan string, 100)
		join := func(subject, queue, name string) *bus.Worker {
			w, err := b.QueueSubscribe(subject, queue, func(m bus.Msg) { got <- name + " " + string(m.Data) })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Close)
			return w
		}
		join("a.x", "q", "first")
		join("a.x", "r", "second")
		join("a.*", "", "third")
		join("a.x", "", "fourth")
		join("a.x", "q", "gone").Close()
		flush(t, b)
		publish(t, b, "a.x", "1")
		publish(t, b, "a.y", "2")
		var all []string
		for range 5 {
			select {
			case one := <-got:
				all = append(all, one)
			case <-time.After(patience):
				t.Fatalf("only %v came", all)
			}
		}
		slices.Sort(all)
		if want := []string{"first 1", "fourth 1", "second 1", "third 1", "third 2"}; !slices.Equal(all, want) {
			t.Errorf("got %v, want %v", all, want)
		}
	})
}
