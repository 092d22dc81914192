package bus_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// stranger is a client on the bus without the key.
func stranger(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func send(t *testing.T, nc *nats.Conn, m *nats.Msg) {
	t.Helper()
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// onForeign opens a bus on a server that knows no credentials.
func onForeign(t *testing.T, url string, key []byte) *bus.Bus {
	t.Helper()
	return open(t, bus.Config{URL: url, Key: key, Credentials: bus.NoCredentials})
}

// Access to the bus is not enough to inject messages: subscribers, queue groups and readers of kept messages get only what a process with
// the key sent, unchanged and on its subject.
func TestAStrangerIsNotHeard(t *testing.T) {
	url := bustest.Foreign(t)
	b, other := onForeign(t, url, nil), onForeign(t, url, nil)
	foreign := onForeign(t, url, []byte("the key of the processes of another mesh"))
	nc := stranger(t, url)
	keep(t, b)
	sub, err := b.Subscribe("delta.*", 64)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	heard := make(chan bus.Msg, 64)
	worker, err := b.QueueSubscribe("delta.*", "workers", func(m bus.Msg) { heard <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	overheard, err := nc.SubscribeSync("delta.a")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}

	publish(t, other, "delta.a", "first")
	genuine, err := overheard.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(genuine.Data, []byte("first")) {
		t.Fatalf("on the wire: %q", genuine.Data)
	}
	for _, forged := range []*nats.Msg{
		{Subject: "delta.a", Data: []byte("bare")},
		{Subject: "delta.a"},
		{Subject: "delta.a", Data: bytes.Repeat([]byte("x"), 1<<20)},
		{Subject: "delta.a", Data: []byte("changed"), Header: genuine.Header},
		{Subject: "delta.b", Data: genuine.Data, Header: genuine.Header},
		{Subject: "delta.a", Data: genuine.Data, Header: nats.Header{"Windlass-Signature": {genuine.Header.Get("Windlass-Signature"), "x"}}},
		{Subject: "delta.a", Data: []byte("end"), Header: nats.Header{"Status": {"404"}, "Nats-Num-Pending": {"0"}}},
		{Subject: "delta.a", Data: []byte("order"), Header: nats.Header{"Nats-Sequence": {"1"}, "Nats-Time-Stamp": {"never"}}},
	} {
		send(t, nc, forged)
	}
	publish(t, foreign, "delta.a", "of another mesh")
	if err := foreign.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, other, "delta.a", "second")

	for _, want := range []string{"first", "second"} {
		if m := <-sub.C(); string(m.Data) != want || m.Subject != "delta.a" {
			t.Errorf("subscriber got %q on %s, want %q", m.Data, m.Subject, want)
		}
		if m := <-heard; string(m.Data) != want || m.Subject != "delta.a" {
			t.Errorf("worker got %q on %s, want %q", m.Data, m.Subject, want)
		}
	}
	var got []string
	testpoll.Until(t, "the messages are kept", func() bool {
		got = nil
		for _, m := range kept(t, b, "delta.a") {
			got = append(got, string(m.Data))
		}
		return len(got) > 1
	})
	if strings.Join(got, " ") != "first second" {
		t.Errorf("kept: %.200q", got)
	}
	if got := kept(t, b, "delta.b"); len(got) > 0 {
		t.Errorf("kept on another subject: %v", got)
	}
}

func TestABusThatOthersCanJoinNeedsAKey(t *testing.T) {
	for _, cfg := range []bus.Config{
		{URL: "nats://127.0.0.1:1"}, {URL: bus.Embedded, Listen: "127.0.0.1:0"}, {URL: "nats://127.0.0.1:1", Key: []byte("short")},
	} {
		b, err := bus.Open(t.Context(), cfg)
		if err == nil {
			closeBus(t, b)
			t.Errorf("%+v was accepted", cfg)
		} else if !strings.Contains(err.Error(), "the bus's key has") {
			t.Errorf("%v", err)
		}
	}
}

func BenchmarkPublishSigned(b *testing.B) {
	s, err := bus.StartServer(b.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: testKey()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	conn := open(b, bus.Config{URL: s.URL()})
	sub, err := conn.Subscribe("x", 1024)
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	data := bytes.Repeat([]byte("x"), 400)
	for b.Loop() {
		if err := conn.Publish("x", data); err != nil {
			b.Fatal(err)
		}
		select {
		case <-sub.C():
		case <-time.After(patience):
			b.Fatal("lost")
		}
	}
}
