package bus_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// TestS19TheBusNeedsCredentials connects ordinary NATS clients: nobody gets in without the mesh's key, and with it only over TLS.
func TestS19TheBusNeedsCredentials(t *testing.T) {
	s := startServer(t, bus.ServerConfig{Listen: "127.0.0.1:0"})
	ours, err := meshtls.FromKey(testKey())
	if err != nil {
		t.Fatal(err)
	}
	secure, err := meshtls.Client(ours)
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]nats.Option{
		"nothing":                     nil,
		"a password":                  {nats.UserInfo("windlass", "windlass")},
		"TLS with any certificate":    {nats.Secure(&tls.Config{InsecureSkipVerify: true})},
		"a certificate, no signature": {nats.Secure(secure)},
		"a certificate, and a key of its own": {
			nats.Secure(secure), nats.Nkey("UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4", func([]byte) ([]byte, error) {
				return []byte("signed"), nil
			}),
		},
	} {
		nc, err := nats.Connect(s.URL(), opts...)
		if err == nil {
			nc.Close()
			t.Errorf("with %s it connects", name)
		}
	}
	if b := open(t, bus.Config{URL: s.URL()}); !b.Connected() {
		t.Error("a process of the mesh does not connect")
	}
}

// TestS19AnotherMeshIsRefused: the wrong key is an error that the log explains, not an end; the bus of the right key goes on.
func TestS19AnotherMeshIsRefused(t *testing.T) {
	s := startServer(t, bus.ServerConfig{Listen: "127.0.0.1:0"})
	for want, cfg := range map[string]bus.Config{
		"mesh.key":        {URL: s.URL(), Key: []byte("the key of the processes of another mesh")},
		"bus.credentials": {URL: bustest.Foreign(t)},
	} {
		log := &logged{}
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		b := open(t, cfg)
		testpoll.Until(t, "a line about "+want, func() bool { return strings.Contains(log.String(), want) })
		if b.Connected() {
			t.Errorf("it connects although %s is wrong", want)
		}
	}
}

// TestS19ANodeNeedsCredentials lets a server without the key try to join a cluster.
func TestS19ANodeNeedsCredentials(t *testing.T) {
	c := newCluster(t, 1)
	ours, err := meshtls.FromKey(testKey())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := meshtls.Peer(ours)
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]server.ClusterOpts{
		"nothing":                   {},
		"a certificate, no secret":  {TLSConfig: peer, TLSTimeout: 5},
		"a secret, no certificate":  {Username: "windlass", Password: "guessed"},
		"a certificate and a guess": {TLSConfig: peer, TLSTimeout: 5, Username: "windlass", Password: "guessed"},
	} {
		opts.Name, opts.Host, opts.Port = "windlass", "127.0.0.1", server.RANDOM_PORT
		route := &url.URL{Scheme: "nats-route", Host: c.routes[0]}
		if opts.Username != "" {
			route.User = url.UserPassword(opts.Username, opts.Password)
		}
		log := &logged{}
		foreign, err := server.NewServer(&server.Options{
			ServerName: "foreign", Host: "127.0.0.1", Port: server.RANDOM_PORT, Cluster: opts, Routes: []*url.URL{route}, NoSigs: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		foreign.SetLoggerV2(log, false, false, false)
		foreign.Start()
		// The node counts a route until it learns that the other side has refused it.
		testpoll.Until(t, "a refusal of a node with "+name, func() bool { return log.String() != "" && foreign.NumRoutes() == 0 })
		foreign.Shutdown()
		foreign.WaitForShutdown()
	}
}

func TestAServerThatListensNeedsAKey(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("short")} {
		s, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: key})
		if err == nil {
			t.Error("it starts without")
			err = s.Close(context.Background())
		}
		if !strings.Contains(err.Error(), "the bus's key has") {
			t.Error(err)
		}
	}
	_, err := bus.Open(t.Context(), bus.Config{URL: "nats://127.0.0.1:1", Key: testKey(), Credentials: "/no/such.creds", TLS: noFiles{}})
	if err == nil {
		t.Error("certificates that cannot be read are no error")
	}
}

type noFiles struct{ meshtls.Source }

func (noFiles) ServerName() string { return "" }

func (noFiles) Authorities() (*x509.CertPool, error) { return nil, errors.New("cannot be read") }

// logged collects log lines, and errors that a NATS server logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Errorf(format string, _ ...any) { _, _ = l.Write([]byte(format + "\n")) }
func (l *logged) Fatalf(format string, _ ...any) { _, _ = l.Write([]byte(format + "\n")) }

func (l *logged) Noticef(format string, v ...any) {
	if line := fmt.Sprintf(format, v...); strings.Contains(line, "connection closed") {
		_, _ = l.Write([]byte(line))
	}
}

func (l *logged) Warnf(string, ...any)  {}
func (l *logged) Debugf(string, ...any) {}
func (l *logged) Tracef(string, ...any) {}
