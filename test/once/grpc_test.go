package once

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// grpcSet describes a service with one method of each class. A message has the number of a case.
func grpcSet(t *testing.T) []byte {
	t.Helper()
	method := func(name string, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{
			Name: new(name), InputType: new(".once.Case"), OutputType: new(".once.Case"),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: level.Enum()},
		}
	}
	out, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("once.proto"), Package: new("once"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Case"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: new("number"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("C"), Method: []*descriptorpb.MethodDescriptorProto{
			method(read, descriptorpb.MethodOptions_NO_SIDE_EFFECTS), method(idempotent, descriptorpb.MethodOptions_IDEMPOTENT),
			method(once, descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
		}}},
	}}})
	harness.Must(t, err)
	return out
}

// grpcCase is what a server does with one call, and what must become of the call.
type grpcCase struct {
	tool   string
	status codes.Code
	moment string // of the status, or of what happens instead

	mu   sync.Mutex
	acts int
	keys map[string]bool
}

// The moments at which a status comes: as the whole answer, after the headers, after a message.
var moments = []string{"alone", "headers", "message"}

// accidents happen instead of a status. After each the connection is another one, or the stream is gone.
var accidents = []string{
	"closed", "closed after headers", "closed after message", "no frames", "reset", "cancelled", "refused", "calm", "insecure", "away",
	"away and closed", "away with another reason", "html 503", "html 404", "html 200", "no status", "headers twice", "unknown compression",
}

func grpcCases() (out []*grpcCase) {
	for _, tool := range []string{read, idempotent, once} {
		for _, moment := range moments {
			for status := range codes.Code(17) {
				out = append(out, &grpcCase{tool: tool, status: status, moment: moment})
			}
			out = append(out, &grpcCase{tool: tool, status: 99, moment: moment})
		}
		for _, a := range accidents {
			out = append(out, &grpcCase{tool: tool, moment: a})
		}
		out = append(out, &grpcCase{tool: tool, moment: "other bytes"})
	}
	return out
}

// want returns how often the server must have been called, and what the caller is told.
func (c *grpcCase) want() (acts int, answer string) {
	switch {
	case c.moment == "other bytes":
		return 1, "error" // it was carried out
	case !slices.Contains(moments, c.moment):
		return c.repeated()
	}
	if c.status == codes.Unknown && c.moment != "message" { // without a message it is what the library makes of trailers without status
		return c.repeated()
	}
	switch c.status {
	case codes.OK:
		if c.moment == "message" {
			return 1, "result"
		}
		return 1, "error" // carried out, without the answer that it must have
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return c.repeated()
	case codes.ResourceExhausted:
		if c.tool != once {
			return c.repeated()
		}
	case codes.Unknown, codes.Internal, codes.DataLoss, 99:
		if c.tool == once {
			return 1, "unknown"
		}
	}
	return 1, "error"
}

func (c *grpcCase) repeated() (int, string) {
	if c.tool == once {
		return 1, "unknown"
	}
	return 3, "no answer"
}

// grpcStream is one request to the server.
type grpcStream struct {
	*http2.Framer
	conn net.Conn
	id   uint32
}

func (s grpcStream) headers(end bool, fields ...string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

func (s grpcStream) begin(more ...string) {
	s.headers(false, append([]string{":status", "200", "content-type", "application/grpc"}, more...)...)
}

func (s grpcStream) message(flag byte, content []byte) {
	frame := binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(content)))
	_ = s.WriteData(s.id, false, append(frame, content...))
}

// answer does what the case says.
func (c *grpcCase) answer(s grpcStream) {
	code := strconv.Itoa(int(c.status))
	switch c.moment {
	case "alone":
		s.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", code, "grpc-retry-pushback-ms", "0")
	case "headers":
		s.begin()
		s.headers(true, "grpc-status", code)
	case "message":
		s.begin()
		s.message(0, []byte{8, 1})
		s.headers(true, "grpc-status", code, "grpc-message", "so it is")
	case "silence":
	case "other bytes":
		s.begin()
		s.message(0, []byte{0xff, 0xff})
		s.headers(true, "grpc-status", "0")
	case "no status":
		s.begin()
		s.message(0, []byte{8, 1})
		s.headers(true, "x", "y")
	case "headers twice":
		s.begin()
		s.begin()
	case "unknown compression":
		s.begin("grpc-encoding", "zip")
		s.message(1, []byte{8, 1})
		s.headers(true, "grpc-status", "0")
	case "html 503", "html 404", "html 200":
		s.headers(false, ":status", strings.TrimPrefix(c.moment, "html "), "content-type", "text/html")
		_ = s.WriteData(s.id, true, []byte("<html>"))
	default:
		c.accident(s)
	}
}

func (c *grpcCase) accident(s grpcStream) {
	reset := map[string]http2.ErrCode{
		"reset": http2.ErrCodeInternal, "cancelled": http2.ErrCodeCancel, "refused": http2.ErrCodeRefusedStream,
		"calm": http2.ErrCodeEnhanceYourCalm, "insecure": http2.ErrCodeInadequateSecurity,
	}
	if code, ok := reset[c.moment]; ok {
		_ = s.WriteRSTStream(s.id, code)
		return
	}
	switch c.moment {
	case "closed after headers":
		s.begin()
	case "closed after message":
		s.begin()
		s.message(0, []byte{8, 1})
	case "no frames":
		_, _ = s.conn.Write(bytes.Repeat([]byte{0xff}, 100))
	case "away":
		_ = s.WriteGoAway(0, http2.ErrCodeNo, nil)
		return
	case "away and closed":
		_ = s.WriteGoAway(0, http2.ErrCodeNo, nil)
	case "away with another reason":
		_ = s.WriteGoAway(s.id, http2.ErrCodeInternal, []byte("why"))
	}
	_ = s.conn.Close()
}

// serveGRPC is one connection of a server that is made of frames, so that it can do what no library does.
func serveGRPC(conn net.Conn, table []*grpcCase) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = framer.WriteSettings()
	keys, bodies := map[uint32]string{}, map[uint32][]byte{}
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
		case *http2.MetaHeadersFrame:
			for _, f := range frame.Fields {
				if f.Name == "idempotency-key" {
					keys[frame.StreamID] = f.Value
				}
			}
		case *http2.DataFrame:
			bodies[frame.StreamID] = append(bodies[frame.StreamID], frame.Data()...)
			if !frame.StreamEnded() {
				continue
			}
			n, ok := caseOf(bodies[frame.StreamID])
			if !ok || n >= len(table) {
				_ = conn.Close()
				return
			}
			c := table[n]
			c.mu.Lock()
			c.acts++
			if key := keys[frame.StreamID]; key != "" {
				if c.keys == nil {
					c.keys = map[string]bool{}
				}
				c.keys[key] = true
			}
			c.mu.Unlock()
			c.answer(grpcStream{framer, conn, frame.StreamID})
		}
	}
}

// caseOf reads the number of a case; an absent one is 0.
func caseOf(body []byte) (int, bool) {
	if len(body) < 5 {
		return 0, false
	}
	if len(body) == 5 {
		return 0, true
	}
	n, size := protowire.ConsumeVarint(body[6:])
	return int(n), size > 0
}

// TestCallsOfAGRPCServer is the table of calls of methods: status × moment × effect, and what can happen to a connection.
func TestCallsOfAGRPCServer(t *testing.T) {
	m, table := newMesh(t), grpcCases()
	silent := len(table)
	for _, tool := range []string{read, idempotent, once} {
		table = append(table, &grpcCase{tool: tool, moment: "silence"})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
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
			open.Go(func() { serveGRPC(conn, table) })
		}
	})
	stop := sync.OnceFunc(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		open.Wait()
	})
	t.Cleanup(stop)
	for name, timeout := range map[string]uint32{"grpc": 0, "slow": 1} {
		m.source(&registryv1.Source{
			Name: name, Kind: "grpc", Url: "grpc://" + l.Addr().String(), DescriptorSet: grpcSet(t), KeyHeader: "idempotency-key",
			CallTimeoutSeconds: timeout,
		})
	}
	for i, c := range table { // one after another: they share connections, and break them
		source := "grpc"
		acts, answer := c.want()
		if i >= silent {
			source, acts, answer = "slow", 1, "no answer"
			if c.tool == once {
				answer = "unknown"
			}
		}
		got := m.callWith(source, "C_"+c.tool, key(i), fmt.Sprintf(`{"number":%d}`, i))
		c.mu.Lock()
		if c.acts != acts || got.String() != answer {
			t.Errorf("%s, status %d, %s: acted %d times and told %s, want %d and %s: %q", c.tool, c.status, c.moment, c.acts, got, acts,
				answer, got.text)
		}
		if c.tool == read && len(c.keys) > 0 || c.tool != read && (len(c.keys) != 1 || !c.keys[key(i)]) {
			t.Errorf("%s, status %d, %s: called under the keys %v, want %s", c.tool, c.status, c.moment, c.keys, key(i))
		}
		c.mu.Unlock()
	}
	t.Logf("%d situations", len(table))
	stop()
	for _, tool := range []string{read, idempotent, once} {
		if got := m.callWith("grpc", "C_"+tool, "away "+tool, "{}"); got.String() != "not called" {
			t.Errorf("%s of a server that is away: told %s", tool, got)
		}
	}
}
