package peercred_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/peercred/peercredtest"
)

// targetEnv is where the other user's process connects to.
const targetEnv = "WINDLASS_TEST_PEERCRED_TARGET"

// TestConnectAsOther is the other user's process: it connects and stays until its input ends.
func TestConnectAsOther(t *testing.T) {
	target := os.Getenv(targetEnv)
	if target == "" {
		t.Skip("a part of TestTheKernelSaysWhoConnects")
	}
	conn, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = conn.Close()
}

func TestAvailable(t *testing.T) {
	if ok, err := peercred.Available(t.Context()); !ok || err != nil {
		t.Errorf("Available = %t, %v", ok, err)
	}
}

func TestTheKernelSaysWhoConnects(t *testing.T) {
	for _, tc := range []struct{ name, listen, network, dial string }{
		{"IPv4", "127.0.0.1:0", "tcp4", "127.0.0.1"},
		{"IPv4 on another loopback address", "127.7.7.7:0", "tcp4", "127.7.7.7"},
		{"IPv6", "[::1]:0", "tcp6", "::1"},
		{"IPv4 to a dual-stack listener", "[::]:0", "tcp4", "127.0.0.1"},
		{"IPv4 mapped into IPv6", "[::]:0", "tcp", "::ffff:127.0.0.1"},
		{"IPv4 of all interfaces", "0.0.0.0:0", "tcp4", "127.0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := net.Listen("tcp", tc.listen)
			if err != nil {
				t.Skipf("this machine cannot listen on %s: %v", tc.listen, err)
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			target := net.JoinHostPort(tc.dial, port)
			conn, err := net.Dial(tc.network, target)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := peercred.Of(accept(t, l)); got != peercred.Same {
				t.Errorf("our own connection is from %s", got)
			}
			t.Run("another user", func(t *testing.T) {
				if got := ofOther(t, l, target); got != peercred.Other {
					t.Errorf("a connection of another user is from %s", got)
				}
			})
		})
	}
}

// ofOther connects as another user and returns what the kernel says about it.
func ofOther(t *testing.T, l net.Listener, target string) peercred.Peer {
	t.Helper()
	cmd := peercredtest.Other(t, "TestConnectAsOther", targetEnv+"="+target)
	stop, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	who := peercred.Of(accept(t, l))
	_ = stop.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return who
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestAClosedSocketBelongsToNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, end := range map[string]func(*net.TCPConn) error{
		"closed": func(c *net.TCPConn) error { return c.Close() },
		"reset":  func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			ours := accept(t, l)
			if err := end(conn.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			_, _ = ours.Read(make([]byte, 1)) // until the end has arrived
			if got := peercred.Of(ours); got != peercred.Unknown {
				t.Errorf("a closed peer is %s", got)
			}
		})
	}
}

// TestAListenerIsNotThePeer closes the peer's socket and has a listener of our own wait at the peer's address: a lookup that falls back to
// listening sockets finds it.
func TestAListenerIsNotThePeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours := accept(t, l)
	_ = conn.(*net.TCPConn).SetLinger(0)
	addr := conn.LocalAddr().String()
	_ = conn.Close()
	_, _ = ours.Read(make([]byte, 1))
	trap, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	if got := peercred.Of(ours); got != peercred.Unknown {
		t.Errorf("the peer is %s", got)
	}
}

func TestHooks(t *testing.T) {
	var got peercred.Peer
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = peercred.FromContext(r.Context())
	}))
	web.Config.ConnContext = peercred.ConnContext
	web.Start()
	defer web.Close()
	resp, err := web.Client().Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got != peercred.Same {
		t.Errorf("HTTP: the peer is %s", got)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got = peercred.Unknown
	server := grpc.NewServer(grpc.Creds(peercred.Credentials(insecure.NewCredentials())), grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			got = peercred.FromPeer(ctx)
			return next(ctx, req)
		}))
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := healthv1.NewHealthClient(client).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if got != peercred.Same {
		t.Errorf("gRPC: the peer is %s", got)
	}
}

func BenchmarkOf(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	ours, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	for b.Loop() {
		if peercred.Of(ours) != peercred.Same {
			b.Fatal("not the same user")
		}
	}
}
