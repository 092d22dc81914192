package egress_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/egress"
)

// frames is a gRPC server made of frames: it counts requests and answers each with a script.
type frames struct {
	address  string
	requests atomic.Int32
	script   func(*exchange)
	refuse   atomic.Bool // close connections at once
}

// exchange is one request.
type exchange struct {
	*http2.Framer
	conn   net.Conn
	stream uint32
}

// headers sends fields, as pairs.
func (x *exchange) headers(end bool, fields ...string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = x.WriteHeaders(http2.HeadersFrameParam{StreamID: x.stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

func (x *exchange) begin(more ...string) {
	x.headers(false, append([]string{":status", "200", "content-type", "application/grpc"}, more...)...)
}

func (x *exchange) message(text string) {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text)))
	_ = x.WriteData(x.stream, false, append(head, text...))
}

func newFrames(t *testing.T, script func(*exchange)) *frames {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frames{address: l.Addr().String(), script: script}
	var open sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			open.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		open.Wait()
	})
	return f
}

func (f *frames) serve(conn net.Conn) {
	defer conn.Close()
	if f.refuse.Load() {
		return
	}
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			_ = framer.WritePing(true, frame.Data)
		case *http2.HeadersFrame:
			f.requests.Add(1)
			if f.script != nil && frame.StreamEnded() {
				f.script(&exchange{framer, conn, frame.StreamID})
			}
		case *http2.DataFrame:
			if f.script != nil && frame.StreamEnded() {
				f.script(&exchange{framer, conn, frame.StreamID})
			}
		}
	}
}

func call(address string) egress.GRPCCall {
	return egress.GRPCCall{
		Address: address, Method: "/p.S/M", Message: []byte("request"), MaxBytes: 1 << 10, MaxMessages: 1,
		Metadata: metadata.Pairs("x-key", "1"),
	}
}

// TestACallIsSentOnce: each row is what a server, or something on the way to it, does with a request. No matter what, it gets one request.
func TestACallIsSentOnce(t *testing.T) {
	const status, message = "grpc-status", "grpc-message"
	for _, row := range []struct {
		name   string
		script func(*exchange)
		want   string // status of the server, or how the call failed
	}{
		{"answers", func(x *exchange) { x.begin(); x.message("m"); x.headers(true, status, "0") }, "OK"},
		{"answers no", func(x *exchange) { x.headers(true, ":status", "200", "content-type", "application/grpc", status, "5") }, "NotFound"},
		{"answers no later", func(x *exchange) { x.begin(); x.headers(true, status, "5", message, "gone") }, "NotFound"},
		{"answers that it is not available", func(x *exchange) {
			x.headers(true, ":status", "200", "content-type", "application/grpc", status, "14", "grpc-retry-pushback-ms", "0")
		}, "Unavailable"},
		{"answers without status", func(x *exchange) { x.begin(); x.headers(true, "x", "y") }, "Unknown"},
		{"refuses the stream", func(x *exchange) { _ = x.WriteRSTStream(x.stream, http2.ErrCodeRefusedStream) }, "in doubt"},
		{"goes away and did nothing", func(x *exchange) { _ = x.WriteGoAway(0, http2.ErrCodeNo, nil) }, "in doubt"},
		{"goes away and closes", func(x *exchange) { _ = x.WriteGoAway(0, http2.ErrCodeNo, nil); x.conn.Close() }, "in doubt"},
		{"goes away with a reason", func(x *exchange) {
			_ = x.WriteGoAway(x.stream, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
			x.conn.Close()
		}, "in doubt"},
		{"goes away and answers", func(x *exchange) {
			_ = x.WriteGoAway(x.stream, http2.ErrCodeNo, nil)
			x.begin()
			x.message("m")
			x.headers(true, status, "0")
		}, "OK"},
		{"resets the stream", func(x *exchange) { _ = x.WriteRSTStream(x.stream, http2.ErrCodeInternal) }, "in doubt"},
		{"resets it as cancelled", func(x *exchange) { _ = x.WriteRSTStream(x.stream, http2.ErrCodeCancel) }, "in doubt"},
		{"resets it as too much", func(x *exchange) { _ = x.WriteRSTStream(x.stream, http2.ErrCodeEnhanceYourCalm) }, "in doubt"},
		{"resets it as not secure", func(x *exchange) { _ = x.WriteRSTStream(x.stream, http2.ErrCodeInadequateSecurity) }, "in doubt"},
		{"closes the connection", func(x *exchange) { x.conn.Close() }, "in doubt"},
		{"closes it after headers", func(x *exchange) { x.begin(); x.conn.Close() }, "in doubt"},
		{"closes it after the message", func(x *exchange) { x.begin(); x.message("m"); x.conn.Close() }, "in doubt"},
		{"is a web server", func(x *exchange) { x.headers(true, ":status", "404", "content-type", "text/html") }, "in doubt"},
		{"is a proxy without server", func(x *exchange) { x.headers(true, ":status", "503", "content-type", "text/html") }, "in doubt"},
		{"sends bytes that are no frames", func(x *exchange) { _, _ = x.conn.Write(bytes.Repeat([]byte{0xff}, 100)) }, "in doubt"},
		{"compresses in an unknown way", func(x *exchange) {
			x.begin("grpc-encoding", "zip")
			_ = x.WriteData(x.stream, false, []byte{1, 0, 0, 0, 1, 'm'})
			x.headers(true, status, "0")
		}, "in doubt"},
		{"sends too much", func(x *exchange) {
			x.begin()
			x.message(strings.Repeat("m", 2000))
			x.headers(true, status, "0")
		}, "too large"},
		{"sends two messages", func(x *exchange) {
			x.begin()
			x.message("a")
			x.message("b")
			x.headers(true, status, "0")
		}, "OK, cut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, warm := range []bool{false, true} { // over a connection that was used before, too
				e := local(t)
				answers := func(x *exchange) { x.begin(); x.message("m"); x.headers(true, status, "0") }
				var script atomic.Pointer[func(*exchange)]
				script.Store(&answers)
				f := newFrames(t, func(x *exchange) { (*script.Load())(x) })
				sent := int32(1)
				if warm {
					if _, err := e.CallGRPC(t.Context(), call(f.address)); err != nil {
						t.Fatal(err)
					}
					sent++
				}
				script.Store(&row.script)
				answer, err := e.CallGRPC(t.Context(), call(f.address))
				if got := outcome(answer, err); got != row.want {
					t.Errorf("warm %v: %s (%v), want %s", warm, got, err, row.want)
				}
				if n := f.requests.Load(); n != sent {
					t.Errorf("warm %v: %d requests", warm, n)
				}
			}
		})
	}
}

func local(t *testing.T) *egress.Egress {
	t.Helper()
	e, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.CloseIdle)
	return e
}

func outcome(a egress.GRPCAnswer, err error) string {
	switch {
	case err == nil && a.Status.Code() == codes.OK && a.Cut:
		return "OK, cut"
	case err == nil:
		return a.Status.Code().String()
	case errors.Is(err, egress.ErrDenied):
		return "denied"
	case egress.NotSent(err):
		return "not sent"
	case errors.Is(err, egress.ErrTooLarge):
		return "too large"
	default:
		return "in doubt"
	}
}

func TestACallIsNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	closing := newFrames(t, nil)
	closing.refuse.Store(true)
	public, err := egress.New(egress.Config{Profile: egress.Public, Allow: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(public.CloseIdle)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	secure := call(newFrames(t, nil).address)
	secure.Secure = true
	for _, row := range []struct {
		name   string
		egress *egress.Egress
		ctx    context.Context // of the call
		call   egress.GRPCCall
		want   string
	}{
		{"nobody listens", local(t), t.Context(), call(nobody), "not sent"},
		{"the server closes connections", local(t), t.Context(), call(closing.address), "not sent"},
		{"the server has no TLS", local(t), t.Context(), secure, "not sent"},
		{"the address is forbidden", public, t.Context(), call(nobody), "denied"},
		{"the address is metadata", local(t), t.Context(), call("169.254.169.254:80"), "denied"},
		{"the caller left", local(t), cancelled, call(nobody), "not sent"},
		{"the address is none", local(t), t.Context(), call("nohost"), "not sent"},
	} {
		for range 2 {
			answer, err := row.egress.CallGRPC(row.ctx, row.call)
			if got := outcome(answer, err); got != row.want && (row.want != "denied" || !egress.NotSent(err)) {
				t.Errorf("%s: %s (%v), want %s", row.name, got, err, row.want)
			}
		}
	}
}

// TestAServerThatIsBackIsCalledAtOnce: gRPC waits before it dials again, up to two minutes.
func TestAServerThatIsBackIsCalledAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	e := local(t)
	for range 3 {
		if answer, err := e.CallGRPC(t.Context(), call(address)); outcome(answer, err) != "not sent" {
			t.Fatalf("%v", err)
		}
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Skip("the port is taken")
	}
	f := &frames{script: func(x *exchange) { x.begin(); x.message("m"); x.headers(true, "grpc-status", "0") }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			f.serve(conn)
		}
	}()
	answer, err := e.CallGRPC(t.Context(), call(address))
	if outcome(answer, err) != "OK" || string(answer.Messages[0]) != "m" {
		t.Errorf("%s, %v", outcome(answer, err), err)
	}
	l.Close()
	e.CloseIdle()
	<-done
}

func TestAStreamOfResponsesIsBounded(t *testing.T) {
	f := newFrames(t, func(x *exchange) {
		x.begin()
		for range 50 {
			x.message("message")
		}
		x.headers(true, "grpc-status", "9")
	})
	e := local(t)
	for _, row := range []struct {
		name     string
		enough   bool
		messages int
		bytes    int
		kept     int
		want     string
	}{
		{"all of it", false, 100, 1000, 50, "FailedPrecondition"},
		{"some messages, and its end", false, 10, 1000, 10, "FailedPrecondition"},
		{"some bytes, and its end", false, 100, 20, 2, "FailedPrecondition"},
		{"some messages are enough", true, 10, 1000, 10, "cut"},
	} {
		c := call(f.address)
		c.Enough, c.MaxMessages, c.MaxBytes = row.enough, row.messages, row.bytes
		answer, err := e.CallGRPC(t.Context(), c)
		got := "cut"
		if answer.Status != nil {
			got = outcome(answer, err)
		}
		if err != nil || got != row.want || len(answer.Messages) != row.kept || answer.Cut != (row.kept < 50) {
			t.Errorf("%s: %s, %d messages, %v", row.name, got, len(answer.Messages), err)
		}
	}
}

// TestASilentServerGetsANewConnection: a connection that leads nowhere must not hold up later calls.
func TestASilentServerGetsANewConnection(t *testing.T) {
	f := newFrames(t, nil)
	e := local(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if answer, err := e.CallGRPC(ctx, call(f.address)); outcome(answer, err) != "in doubt" {
		t.Errorf("%v", err)
	}
	answers := newFrames(t, func(x *exchange) { x.begin(); x.message("m"); x.headers(true, "grpc-status", "0") })
	if answer, err := e.CallGRPC(t.Context(), call(answers.address)); outcome(answer, err) != "OK" {
		t.Errorf("%v", err)
	}
}
