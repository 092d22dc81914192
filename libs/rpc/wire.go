package rpc

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// keptBuffer is the capacity in bytes up to which buffers are reused.
const keptBuffer = 64 << 10

// buffers pools the buffers of encoded messages.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// packet is an encoded message in memory. Open it once.
type packet struct {
	buf *[]byte
	// shared are the fields of the message that are not encoded, nil for none; bytes is about the size of the whole if they were.
	shared protoreflect.Message
	bytes  int
}

// pack encodes a message, and rejects what gRPC would reject: text that is not UTF-8, and more than MaxMessage bytes.
func pack(m any) (packet, error) {
	p, err := encode(m)
	if err == nil && p.bytes > MaxMessage {
		p.free()
		return packet{}, status.Errorf(codes.ResourceExhausted, "message of %d bytes, more than %d", p.bytes, MaxMessage)
	}
	return p, err
}

// encode encodes a message of any size.
func encode(m any) (packet, error) {
	from, ok := m.(proto.Message)
	if !ok {
		return packet{}, status.Errorf(codes.Internal, "%T is no message", m)
	}
	p := packet{buf: buffers.Get().(*[]byte)}
	if r := from.ProtoReflect(); sharesAny(r.Descriptor()) {
		p.shared, p.bytes, r = split(r)
		from = r.Interface()
	}
	b, err := proto.MarshalOptions{}.MarshalAppend((*p.buf)[:0], from)
	*p.buf = b
	if p.bytes += len(b); err != nil {
		p.free()
		return packet{}, status.Errorf(codes.Internal, "message cannot be encoded: %v", err)
	}
	return p, nil
}

// size returns the message's size in bytes.
func (p packet) size() int { return p.bytes }

// open decodes the message into m and frees the packet.
func (p packet) open(m any) error {
	defer p.free()
	to, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no message", m)
	}
	if err := proto.Unmarshal(*p.buf, to); err != nil {
		return status.Errorf(codes.Internal, "message cannot be decoded: %v", err)
	}
	if p.shared != nil {
		if p.shared.Descriptor() != to.ProtoReflect().Descriptor() {
			return status.Errorf(codes.Internal, "%T is received as %T", p.shared.Interface(), m)
		}
		join(to.ProtoReflect(), p.shared)
	}
	return nil
}

func (p packet) free() {
	if cap(*p.buf) <= keptBuffer {
		buffers.Put(p.buf)
	}
}
