package bus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// Nodes of a cluster are restarted one by one: clients continue with the others, and kept messages survive.
func TestClusterIsRestartedNodeByNode(t *testing.T) {
	c := newCluster(t, 3)
	b := open(t, bus.Config{URL: c.url(), Replicas: 3})
	if b.Spread() == 0 || embedded(t).Spread() != 0 {
		t.Error("a cluster spreads subscriptions, a single server does not")
	}
	ensure(t, b)
	defer func() {
		if t.Failed() {
			msgs, err := b.Kept(t.Context(), "deltas.a")
			t.Logf("%d messages are kept, the first is %q: %v", len(msgs), firstOf(msgs), err)
		}
	}()
	for i := range c.nodes {
		publishKept(t, b, fmt.Sprintf("before %d is away", i))
		c.stop(t, i)
		publishKept(t, b, fmt.Sprint("without ", i))
		c.start(t, i)
	}
	testpoll.Until(t, "all messages of the restarts", func() bool {
		first, known := keeps(t, b, "without 2")
		return known && first == "before 0 is away"
	})
}

// publishKept publishes until the message is kept: one sent while a node stops may be lost or refused.
func publishKept(t *testing.T, b *bus.Bus, text string) {
	t.Helper()
	testpoll.Until(t, "message "+text, func() bool {
		_, known := keeps(t, b, text)
		if !known {
			_ = b.Publish("deltas.a", []byte(text)) // retried
		}
		return known
	})
}

// keeps reports whether a message is kept, and which message is the oldest.
func keeps(t *testing.T, b *bus.Bus, want string) (first string, known bool) {
	t.Helper()
	msgs, err := b.Kept(t.Context(), "deltas.a")
	if err != nil || len(msgs) == 0 {
		return "", false
	}
	for _, m := range msgs {
		known = known || string(m.Data) == want
	}
	return firstOf(msgs), known
}

func firstOf(msgs []bus.KeptMsg) string {
	if len(msgs) == 0 {
		return ""
	}
	return string(msgs[0].Data)
}

func TestBadCluster(t *testing.T) {
	for want, c := range map[string]bus.Cluster{
		"needs a name": {Listen: "127.0.0.1:0"},
		"route":        {Listen: "127.0.0.1:0", Node: "a", Routes: []string{"nowhere"}},
		"port":         {Listen: "127.0.0.1:x", Node: "a"},
	} {
		_, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: testKey(), Cluster: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

// cluster is a NATS cluster inside this process.
type cluster struct {
	nodes           []*bus.Server
	clients, routes []string
	dir             string
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	addrs := freePorts(t, 2*size)
	c := &cluster{nodes: make([]*bus.Server, size), clients: addrs[:size], routes: addrs[size:], dir: t.TempDir()}
	for i := range c.nodes {
		c.start(t, i)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(t, i)
		}
	})
	return c
}

func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	name := fmt.Sprintf("node-%d", i+1)
	var err error
	if c.nodes[i], err = bus.StartServer(t.Context(), bus.ServerConfig{
		Listen: c.clients[i], Dir: filepath.Join(c.dir, name), Key: testKey(),
		Cluster: bus.Cluster{Node: name, Listen: c.routes[i], Routes: c.routes},
	}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) stop(t *testing.T, i int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.nodes[i].Close(ctx); err != nil {
		t.Error(err)
	}
}

func (c *cluster) url() string { return "nats://" + strings.Join(c.clients, ",nats://") }

// freePorts picks ports below the ephemeral range, which stay free while a server is down.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))
		if err != nil && tries < 1000 {
			continue // in use
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // after all are picked
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// ensure creates the kept stream, and retries while the cluster has no leader.
func ensure(t *testing.T, b *bus.Bus) {
	t.Helper()
	testpoll.Until(t, "the kept stream", func() bool {
		return b.EnsureKept(t.Context(), bus.KeptConfig{Name: "deltas", Subjects: []string{"deltas.*"}, MaxAge: time.Hour}) == nil
	})
}
