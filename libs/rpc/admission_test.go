package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/admission"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	check       = "/grpc.health.v1.Health/Check"
	getDecision = "/windlass.policy.v1.PolicyService/GetDecision"
)

// strangers is a server on TCP that accepts mesh tokens only.
type strangers struct {
	addr string
	ring *authn.Keyring
}

func newStrangers(t *testing.T, limits admission.Limits) *strangers {
	t.Helper()
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{}, Admission: limits,
		Authenticator: authn.NewAuthenticator(nil, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyServiceServer(srv, fake{get: func(context.Context) (*policyv1.Decision, error) {
		return &policyv1.Decision{}, nil
	}})
	l, err := rpc.TCP{Listeners: map[string]string{"policy": "127.0.0.1:0"}}.Listen("policy")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		srv.Stop(ended)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &strangers{addr: l.Addr().String(), ring: ring}
}

// call makes a call with a mesh token on a connection of its own.
func (s *strangers) call(t *testing.T) error {
	t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	token, err := s.ring.Sign(&policyv1.Principal{Subject: "gateway", Tenant: "default", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE})
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), authn.Header, token)
	_, err = policyv1.NewPolicyServiceClient(conn).GetDecision(ctx, anyDecision)
	return err
}

// rawConn speaks HTTP/2 without the manners of a client.
type rawConn struct {
	net.Conn
	framer *http2.Framer
	out    bytes.Buffer
	enc    *hpack.Encoder
	next   uint32
}

func (s *strangers) dial(t *testing.T) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := &rawConn{Conn: conn, framer: http2.NewFramer(conn, conn), next: 1}
	r.enc = hpack.NewEncoder(&r.out)
	r.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err = errors.Join(err, r.framer.WriteSettings()); err != nil {
		t.Fatal(err)
	}
	return r
}

// open begins a call and leaves it open: no message follows.
func (r *rawConn) open(method string) (uint32, error) {
	r.out.Reset()
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "localhost"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		if err := r.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return 0, err
		}
	}
	id := r.next
	r.next += 2
	return id, r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.out.Bytes(), EndHeaders: true})
}

// status reads the answers of calls until one has a status.
func (r *rawConn) status(t *testing.T) string {
	t.Helper()
	for {
		f, err := r.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		h, ok := f.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		for _, field := range h.Fields {
			if field.Name == "grpc-status" {
				return field.Value
			}
		}
	}
}

func TestCallsWithoutCredentialsAreRefusedBeforeTheirMessage(t *testing.T) {
	s := newStrangers(t, admission.Limits{})
	r := s.dial(t)
	for _, method := range []string{getDecision, "/windlass.policy.v1.PolicyService/ListAll", "/nothing.Here/Get"} {
		if _, err := r.open(method); err != nil {
			t.Fatal(err)
		}
		if got := r.status(t); got != "16" && got != "12" {
			t.Errorf("%s: status %s", method, got)
		}
	}
}

// A caller without credentials opens calls that anyone may make, and never sends their messages.
func TestOpenCallsOfStrangersAreBounded(t *testing.T) {
	const most, tried = 20, 5000
	s := newStrangers(t, admission.Limits{Connections: 8, Calls: most + 10, ConnectionCalls: most, Bytes: 1 << 20, ConnectionBytes: 1 << 20})
	before := runtime.NumGoroutine()
	r := s.dial(t)
	wrote := make(chan error, 1)
	go func() {
		for range tried {
			if _, err := r.open(check); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	for n := range tried - most {
		if got := r.status(t); got != "8" { // RESOURCE_EXHAUSTED
			t.Fatalf("answer %d: status %s", n, got)
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if now := runtime.NumGoroutine(); now > before+most+10 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
	other := s.dial(t) // of the same address
	for range 11 {
		if _, err := other.open(check); err != nil {
			t.Fatal(err)
		}
	}
	if got := other.status(t); got != "8" {
		t.Errorf("another connection of the address: status %s", got)
	}
	_ = r.Close()
	for { // its calls end with it
		if _, err := other.open(getDecision); err != nil {
			t.Fatal(err)
		}
		if other.status(t) == "16" {
			break
		}
	}
	if err := s.call(t); err != nil {
		t.Errorf("a caller with credentials: %v", err)
	}
}

func TestConnectionsOfStrangersAreBounded(t *testing.T) {
	s := newStrangers(t, admission.Limits{Connections: 4, Calls: 100, ConnectionCalls: 100, Bytes: 1 << 20, ConnectionBytes: 1 << 20})
	for range 10 { // accepted connections do not count
		if err := s.call(t); err != nil {
			t.Fatal(err)
		}
	}
	served := func(r *rawConn) bool { _, err := r.framer.ReadFrame(); return err == nil } // the settings of the server
	var all []*rawConn
	for range 4 {
		all = append(all, s.dial(t))
	}
	for n, r := range all {
		if !served(r) {
			t.Errorf("connection %d is refused", n)
		}
	}
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("one too many is served: %d bytes", n)
	}
	_ = conn.Close()
	_ = all[0].Close()
	for { // the server learns of the end at some time
		if err := s.call(t); err == nil {
			break
		}
	}
}

// A message that anyone may send is cut off long before the size that users may send.
func TestMessagesOfStrangersAreSmall(t *testing.T) {
	s := newStrangers(t, admission.Limits{Connections: 4, Calls: 100, ConnectionCalls: 100, Bytes: 1 << 20, ConnectionBytes: 256 << 10})
	r := s.dial(t)
	id, err := r.open(check)
	if err != nil {
		t.Fatal(err)
	}
	if sent := r.send(id, 16<<20); sent >= 16<<20 {
		t.Errorf("the server took %d bytes", sent)
	}
	for range 40 { // a connection on which nothing is open may be used for as long as its caller likes
		if err := s.healthy(t); err != nil {
			t.Fatal(err)
		}
	}
}

// send sends a message of this size as the windows of the server allow, and returns how much of it the server took.
func (r *rawConn) send(id uint32, size int) (sent int) {
	data := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	const chunk = 16 << 10
	windows := map[uint32]int{0: 65535, id: 65535}
	for ; sent < size; sent += len(data) {
		for windows[0] < chunk || windows[id] < chunk {
			f, err := r.framer.ReadFrame()
			if err != nil {
				return sent
			}
			if u, ok := f.(*http2.WindowUpdateFrame); ok {
				windows[u.StreamID] += int(u.Increment)
			}
		}
		if err := r.framer.WriteData(id, false, data); err != nil {
			return sent
		}
		windows[0] -= len(data)
		windows[id] -= len(data)
		data = make([]byte, chunk)
	}
	return sent
}

func (s *strangers) healthy(t *testing.T) error {
	t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for range 100 {
		if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
			return err
		}
	}
	return nil
}
