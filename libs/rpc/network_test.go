package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// watcher is a turn service whose Watch does what the test sets.
type watcher struct {
	sessionsv1.UnimplementedTurnServiceServer
	watch func(stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error
}

func (w watcher) WatchTurn(_ *sessionsv1.WatchTurnRequest, stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
	return w.watch(stream)
}

// mesh is a role on one kind of network.
type mesh struct {
	network  rpc.Network
	listener net.Listener
	ring     *authn.Keyring
	server   *rpc.Server
	done     chan error
}

// networks runs a test over each kind of network.
func networks(t *testing.T, f func(t *testing.T, m *mesh)) {
	for name, open := range map[string]func(t *testing.T) (rpc.Network, net.Listener){
		"memory": func(t *testing.T) (rpc.Network, net.Listener) {
			n := rpc.NewMemory()
			l, err := n.Listen("role")
			if err != nil {
				t.Fatal(err)
			}
			return n, l
		},
		"tcp": func(t *testing.T) (rpc.Network, net.Listener) {
			return listenTCP(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, l := open(t)
			ring, err := authn.NewKeyring(authn.NewKey())
			if err != nil {
				t.Fatal(err)
			}
			f(t, newMesh(t, n, l, ring))
		})
	}
}

func newMesh(t *testing.T, n rpc.Network, l net.Listener, ring *authn.Keyring) *mesh {
	t.Helper()
	m := &mesh{network: n, listener: l, ring: ring, done: make(chan error, 1)}
	var err error
	if m.server, err = rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring,
		Authorizer: rpctest.AllowAll{},
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

// overTCP is a role on its own port.
func overTCP(t *testing.T, ring *authn.Keyring) *mesh {
	t.Helper()
	n, l := listenTCP(t)
	return newMesh(t, n, l, ring)
}

func listenTCP(t *testing.T) (rpc.Network, net.Listener) {
	t.Helper()
	l, err := rpc.TCP{Listeners: map[string]string{"role": "127.0.0.1:0"}}.Listen("role")
	if err != nil {
		t.Fatal(err)
	}
	return rpc.TCP{Targets: map[string]string{"role": l.Addr().String()}}, l
}

func (m *mesh) start(t *testing.T) rpc.Conn {
	t.Helper()
	if err := m.server.Prepare(); err != nil {
		t.Fatal(err)
	}
	go func() { m.done <- m.server.Serve(m.listener) }()
	conn, err := rpc.Dial(m.network, "role", rpc.ClientConfig{Keyring: m.ring, As: authn.Local()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		m.stop(t, true)
	})
	return conn
}

func (m *mesh) stop(t *testing.T, cut bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if cut {
		cancel()
	}
	m.server.Stop(ctx)
	if err := <-m.done; err != nil {
		t.Error(err)
	}
	m.done <- nil
}

func decide(conn rpc.Conn) policyv1.PolicyServiceClient { return policyv1.NewPolicyServiceClient(conn) }

var anyDecision = &policyv1.GetDecisionRequest{DecisionId: "dec_1"}

func TestUnaryOnEachNetwork(t *testing.T) {
	long := strings.Repeat("x", rpc.MaxMessage+1)
	rows := []struct {
		name string
		get  func(ctx context.Context) (*policyv1.Decision, error)
		ctx  func(ctx context.Context) (context.Context, context.CancelFunc)
		req  *policyv1.GetDecisionRequest
		code codes.Code
	}{
		{name: "a value of the caller's context is not passed on", get: func(ctx context.Context) (*policyv1.Decision, error) {
			if ctx.Value(key{}) != nil {
				return nil, errors.New("it leaked")
			}
			return &policyv1.Decision{}, nil
		}},
		{name: "contexts that are made of the handler's take no goroutines", get: func(ctx context.Context) (*policyv1.Decision, error) {
			before := runtime.NumGoroutine()
			for range 100 {
				_, cancel := context.WithCancel(ctx)
				defer cancel()
			}
			if more := runtime.NumGoroutine() - before; more >= 50 {
				return nil, fmt.Errorf("%d more goroutines", more)
			}
			return &policyv1.Decision{}, nil
		}},
		{name: "an answer that is too large", get: func(context.Context) (*policyv1.Decision, error) {
			return &policyv1.Decision{Subject: long}, nil
		}, code: codes.ResourceExhausted},
		{name: "text that is not UTF-8", get: func(context.Context) (*policyv1.Decision, error) {
			return &policyv1.Decision{Subject: "\xff"}, nil
		}, code: codes.Internal},
		{name: "a question that is not UTF-8", req: &policyv1.GetDecisionRequest{DecisionId: "\xff"}, code: codes.Internal},
		{name: "a fault keeps its code", get: func(context.Context) (*policyv1.Decision, error) {
			return nil, fault.NotFound("nothing here")
		}, code: codes.NotFound},
		{name: "over before it began", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		}, code: codes.DeadlineExceeded},
		{name: "a deadline passes on the way", get: func(ctx context.Context) (*policyv1.Decision, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 30*time.Millisecond)
		}, code: codes.DeadlineExceeded},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			networks(t, func(t *testing.T, m *mesh) {
				policyv1.RegisterPolicyServiceServer(m.server, fake{get: r.get})
				conn := m.start(t)
				ctx := context.WithValue(t.Context(), key{}, "mine")
				if r.ctx != nil {
					var cancel context.CancelFunc
					ctx, cancel = r.ctx(ctx)
					defer cancel()
				}
				req := r.req
				if req == nil {
					req = anyDecision
				}
				if _, err := decide(conn).GetDecision(ctx, req); status.Code(err) != r.code {
					t.Errorf("got %v, want %v", err, r.code)
				}
			})
		})
	}
}

type key struct{}

func TestHeadersOnEachNetwork(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
			in, _ := metadata.FromIncomingContext(ctx)
			return &policyv1.Decision{}, errors.Join(
				grpc.SetHeader(ctx, metadata.Pairs("x-echo", in.Get("x-note")[0])), grpc.SetTrailer(ctx, metadata.Pairs("x-end", "1")))
		}})
		conn := m.start(t)
		var header, trailer metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-note", "hello")
		if _, err := decide(conn).GetDecision(ctx, anyDecision, grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
			t.Fatal(err)
		}
		if header.Get("x-echo")[0] != "hello" || trailer.Get("x-end")[0] != "1" {
			t.Errorf("header %v, trailer %v", header, trailer)
		}
	})
}

func TestACallerThatGoesAway(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
			cancel()
			<-ctx.Done()
			gone <- ctx.Err()
			return nil, ctx.Err()
		}})
		if _, err := decide(m.start(t)).GetDecision(ctx, anyDecision); status.Code(err) != codes.Canceled {
			t.Errorf("got %v", err)
		}
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v", err)
		}
	})
}

func event(n uint32) *sessionsv1.WatchTurnResponse {
	return &sessionsv1.WatchTurnResponse{Event: &turnv1.Event{Seq: n, SessionId: strings.Repeat("x", 1000)}}
}

func watch(t *testing.T, ctx context.Context, conn rpc.Conn) grpc.ServerStreamingClient[sessionsv1.WatchTurnResponse] {
	t.Helper()
	stream, err := sessionsv1.NewTurnServiceClient(conn).WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: "trn_1"})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestStreamOnEachNetwork(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		const count = 500 // many flow-control windows
		sessionsv1.RegisterTurnServiceServer(m.server,
			watcher{watch: func(stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
				if err := stream.SendHeader(metadata.Pairs("x-open", "1")); err != nil {
					return err
				}
				for n := range uint32(count) {
					if err := stream.Send(event(n)); err != nil {
						return err
					}
				}
				stream.SetTrailer(metadata.Pairs("x-end", "1"))
				return fault.NotFound("that was all")
			}})
		stream := watch(t, t.Context(), m.start(t))
		header, err := stream.Header()
		if err != nil || header.Get("x-open")[0] != "1" {
			t.Fatalf("header %v, %v", header, err)
		}
		for n := range uint32(count) {
			got, err := stream.Recv()
			if err != nil || got.GetEvent().GetSeq() != n {
				t.Fatalf("message %d: %v, %v", n, got.GetEvent().GetSeq(), err)
			}
		}
		if _, err := stream.Recv(); status.Code(err) != codes.NotFound {
			t.Errorf("end: %v", err)
		}
		if stream.Trailer().Get("x-end")[0] != "1" {
			t.Errorf("trailer %v", stream.Trailer())
		}
	})
}

func TestAStreamThatIsRefused(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		sessionsv1.RegisterTurnServiceServer(m.server, watcher{watch: func(grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
			return fault.NotFound("no such turn")
		}})
		stream := watch(t, t.Context(), m.start(t))
		if header, err := stream.Header(); header != nil || err != nil {
			t.Errorf("header %v, %v: want none", header, err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStreamThatEndsWell(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		sessionsv1.RegisterTurnServiceServer(m.server,
			watcher{watch: func(grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error { return nil }})
		if _, err := watch(t, t.Context(), m.start(t)).Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want io.EOF", err)
		}
	})
}

// A reader that does not read blocks the sender; when it goes away, the handler's context ends.
func TestASlowReader(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		held := make(chan error, 1)
		sessionsv1.RegisterTurnServiceServer(m.server,
			watcher{watch: func(stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
				var err error
				for n := uint32(0); err == nil; n++ {
					err = stream.Send(event(n))
				}
				held <- err
				return err
			}})
		ctx, cancel := context.WithCancel(t.Context())
		stream := watch(t, ctx, m.start(t))
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-held; err == nil {
			t.Error("the sender was not stopped")
		}
		for {
			if _, err := stream.Recv(); err != nil {
				if status.Code(err) != codes.Canceled {
					t.Errorf("got %v", err)
				}
				return
			}
		}
	})
}

func TestStopWaitsForCalls(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		entered, leave := make(chan struct{}), make(chan struct{})
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(context.Context) (*policyv1.Decision, error) {
			close(entered)
			<-leave
			return &policyv1.Decision{Subject: "finished"}, nil
		}})
		conn := m.start(t)
		answer := make(chan string, 1)
		go func() {
			d, err := decide(conn).GetDecision(context.WithoutCancel(t.Context()), anyDecision)
			answer <- d.GetSubject() + status.Code(err).String()
		}()
		<-entered
		go func() { close(leave) }()
		m.stop(t, false)
		if got := <-answer; got != "finishedOK" {
			t.Errorf("the call under way: %s", got)
		}
	})
}

func TestStopCutsCallsInTheEnd(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		entered := make(chan struct{}, 2)
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		sessionsv1.RegisterTurnServiceServer(m.server,
			watcher{watch: func(stream grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
				entered <- struct{}{}
				<-stream.Context().Done()
				return stream.Context().Err()
			}})
		conn := m.start(t)
		ends := make(chan error, 2)
		stream := watch(t, context.WithoutCancel(t.Context()), conn)
		go func() {
			_, err := decide(conn).GetDecision(context.WithoutCancel(t.Context()), anyDecision)
			ends <- err
		}()
		go func() {
			_, err := stream.Recv()
			ends <- err
		}()
		<-entered
		<-entered
		m.stop(t, true)
		for range 2 {
			if err := <-ends; status.Code(err) != codes.Unavailable {
				t.Errorf("got %v, want unavailable", err)
			}
		}
	})
}

// TestStopDoesNotWaitForAHandlerThatDoesNotEnd uses a handler that ignores its context.
func TestStopDoesNotWaitForAHandlerThatDoesNotEnd(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(context.Context) (*policyv1.Decision, error) {
			close(entered)
			<-leave
			return &policyv1.Decision{}, nil
		}})
		conn := m.start(t)
		go func() {
			defer close(left)
			_, _ = decide(conn).GetDecision(context.WithoutCancel(t.Context()), anyDecision) // the result does not matter
		}()
		<-entered
		m.stop(t, true)
		close(leave)
		<-left
	})
}

// A call waits for a role that is not up yet, and for one whose server was replaced.
func TestACallWaitsForItsRole(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		if _, tcp := m.network.(rpc.TCP); tcp {
			m.server.Stop(t.Context())
			t.Skip("its listener is closed with the server")
		}
		conn := m.start(t)
		m.stop(t, false)
		answer := make(chan error, 1)
		go func() {
			_, err := decide(conn).GetDecision(t.Context(), anyDecision)
			answer <- err
		}()
		next := &mesh{network: m.network, listener: m.listener, ring: m.ring, done: make(chan error, 1)}
		var err error
		if next.server, err = rpc.NewServer(rpc.ServerConfig{
			Log: slog.New(slog.DiscardHandler), Keyring: m.ring,
			Authorizer: rpctest.AllowAll{},
		}); err != nil {
			t.Fatal(err)
		}
		policyv1.RegisterPolicyServiceServer(next.server,
			fake{get: func(context.Context) (*policyv1.Decision, error) { return &policyv1.Decision{}, nil }})
		next.start(t)
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
}

// A request that cannot be sent ends its stream: the handler does not wait until the caller's context ends.
func TestARequestThatCannotBeSentEndsItsStream(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		sessionsv1.RegisterTurnServiceServer(m.server,
			watcher{watch: func(grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error { return nil }})
		conn := m.start(t)
		_, err := sessionsv1.NewTurnServiceClient(conn).WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: "\xff"})
		if status.Code(err) != codes.Internal {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m.server.Stop(ctx)
		if ctx.Err() != nil {
			t.Error("the handler still waits for the request")
		}
	})
}

// A call without WaitForReady fails if the role is not served.
func TestACallThatDoesNotWait(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		conn := m.start(t)
		m.stop(t, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := decide(conn).GetDecision(ctx, anyDecision, grpc.WaitForReady(false)); status.Code(err) != codes.Unavailable {
			t.Errorf("unary: %v", err)
		}
		stream, err := sessionsv1.NewTurnServiceClient(conn).WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: "trn_1"},
			grpc.WaitForReady(false))
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Unavailable {
			t.Errorf("stream: %v", err)
		}
	})
}

// A call is refused before its request arrives: the sender learns why when it receives, as generated clients expect.
func TestARefusalBeforeTheRequest(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		sessionsv1.RegisterTurnServiceServer(m.server, watcher{})
		m.start(t)
		stranger, err := authn.NewKeyring(authn.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := rpc.Dial(m.network, "role", rpc.ClientConfig{Keyring: stranger, As: authn.Local()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, sessionsv1.TurnService_WatchTurn_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		if header, err := stream.Header(); header != nil || err != nil { // refused by now
			t.Fatalf("header %v, %v", header, err)
		}
		if err := stream.SendMsg(&sessionsv1.WatchTurnRequest{TurnId: "trn_1"}); err != nil {
			t.Errorf("send: %v", err)
		}
		if err := stream.RecvMsg(&sessionsv1.WatchTurnResponse{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("receive: %v", err)
		}
	})
}
