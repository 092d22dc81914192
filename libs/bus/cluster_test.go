package bus_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
)

// The nodes of a cluster are stopped and started again one by one: clients go on with the others, and what was kept stays.
func TestClusterIsRestartedNodeByNode(t *testing.T) {
	c := newCluster(t, 3)
	b := open(t, bus.Config{URL: c.url(), Replicas: 3})
	if b.Spread() == 0 || embedded(t).Spread() != 0 {
		t.Error("a cluster spreads subscriptions, a single server does not")
	}
	ensure(t, b)
	for i := range c.nodes {
		before := fmt.Sprintf("before %d is away", i)
		eventually(t, "message "+before, func() bool {
			_, known := keeps(t, b, before)
			return known || b.Publish("deltas.a", []byte(before)) != nil // again until it is there: a message may be lost
		})
		c.stop(t, i)
		eventually(t, "message while a node is away", func() bool {
			_, known := keeps(t, b, fmt.Sprint("without ", i))
			return known || b.Publish("deltas.a", fmt.Append(nil, "without ", i)) != nil
		})
		c.start(t, i)
	}
	eventually(t, "all messages of the restarts", func() bool {
		first, known := keeps(t, b, "without 2")
		return known && first == "before 0 is away"
	})
}

// keeps tells whether a message is kept, and which one is the first.
func keeps(t *testing.T, b *bus.Bus, want string) (first string, known bool) {
	t.Helper()
	msgs, err := b.Kept(t.Context(), "deltas.a")
	if err != nil || len(msgs) == 0 {
		return "", false
	}
	for _, m := range msgs {
		known = known || string(m.Data) == want
	}
	return string(msgs[0].Data), known
}

func TestBadCluster(t *testing.T) {
	for want, c := range map[string]bus.Cluster{
		"needs a name": {Listen: "127.0.0.1:0"},
		"route":        {Listen: "127.0.0.1:0", Node: "a", Routes: []string{"nowhere"}},
		"port":         {Listen: "127.0.0.1:x", Node: "a"},
	} {
		_, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Cluster: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

// cluster is nodes in this process.
type cluster struct {
	nodes           []*bus.Server
	clients, routes []string
	dir             string
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{nodes: make([]*bus.Server, size), clients: freePorts(t, size), routes: freePorts(t, size), dir: t.TempDir()}
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
		Listen: c.clients[i], Dir: filepath.Join(c.dir, name), Cluster: bus.Cluster{Node: name, Listen: c.routes[i], Routes: c.routes},
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

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // after all are picked
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// ensure keeps the stream; a cluster that has no leader yet refuses it.
func ensure(t *testing.T, b *bus.Bus) {
	t.Helper()
	eventually(t, "the kept stream", func() bool {
		return b.EnsureKept(t.Context(), bus.KeptConfig{Name: "deltas", Subjects: []string{"deltas.*"}, MaxAge: time.Hour}) == nil
	})
}

func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !yes() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}
