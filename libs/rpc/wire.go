package rpc

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// keptBuffer is the capacity in bytes up to which buffers are reused.
const keptBuffer = 64 << 10

// buffers pools the buffers of encoded messages.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// packet is an encoded message in memory. Open it once.
type packet struct{ buf *[]byte }

// pack encodes a message, and rejects what gRPC would reject: text that is not UTF-8, and more than MaxMessage bytes.
func pack(m any) (packet, error) {
	from, ok := m.(proto.Message)
	if !ok {
		return packet{}, status.Errorf(codes.Internal, "%T is no message", m)
	}
	buf := buffers.Get().(*[]byte)
	b, err := proto.MarshalOptions{}.MarshalAppend((*buf)[:0], from)
	*buf = b
	p := packet{buf}
	if err != nil {
		p.free()
		return packet{}, status.Errorf(codes.Internal, "message cannot be encoded: %v", err)
	}
	if len(b) > MaxMessage {
		p.free()
		return packet{}, status.Errorf(codes.ResourceExhausted, "message of %d bytes, more than %d", len(b), MaxMessage)
	}
	return p, nil
}

// size returns the message's size in bytes.
func (p packet) size() int { return len(*p.buf) }

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
	return nil
}

func (p packet) free() {
	if cap(*p.buf) <= keptBuffer {
		buffers.Put(p.buf)
	}
}

// transfer copies a message by encoding and decoding it, as a network would.
func transfer(from, to any) error {
	p, err := pack(from)
	if err != nil {
		return err
	}
	return p.open(to)
}
