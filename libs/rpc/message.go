package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// readLimit is the size at which grpc itself rejects a message, without a reason. Between MaxMessage and readLimit we reject it, with one.
const readLimit = 2 * MaxMessage

// received returns the error for a message that cannot be decoded.
func received(err error) error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY, "the message cannot be decoded").
		Hint("Encode it with this version's .proto files.").Cause(err)
}

func requestTooLarge(size int) error {
	return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE, "the message has %d bytes, more than %d", size, MaxMessage).
		Hint("Send less in one request.")
}

func responseTooLarge(size int) error {
	return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RESPONSE_TOO_LARGE, "the answer has %d bytes, more than %d", size,
		MaxMessage).
		Hint("Ask for less at once, for example with a smaller page_size.")
}

// serverStream is a TCP or in-memory stream with the caller's principal, which validates received and sent messages.
type serverStream struct {
	grpc.ServerStream
	ctx      context.Context
	validate func(any) error
	// role is set if the caller is a role of the mesh, with a token.
	role bool
	// received gets each valid message, sending each message before it is sent, and may refuse it; both may be nil.
	received func(any)
	sending  func(any) error
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) RecvMsg(m any) error {
	err := s.receive(m)
	if err == nil && s.received != nil {
		s.received(m)
	}
	return err
}

func (s *serverStream) receive(m any) error {
	if _, direct := s.ServerStream.(*serverSide); direct {
		if err := s.ServerStream.RecvMsg(m); err != nil {
			return err
		}
		return s.validate(m)
	}
	in := &incoming{message: m, role: s.role}
	if err := s.ServerStream.RecvMsg(in); err != nil {
		return err
	}
	if in.err != nil {
		return in.err
	}
	return s.validate(m)
}

func (s *serverStream) SendMsg(m any) error {
	if out, ok := m.(proto.Message); ok {
		if size := proto.Size(out); size > MaxMessage {
			return responseTooLarge(size)
		}
	}
	if s.sending != nil {
		if err := s.sending(m); err != nil {
			return err
		}
	}
	return s.ServerStream.SendMsg(m)
}

// incoming is a message and what is wrong with it: an error of the codec would end the call before we can add a reason.
type incoming struct {
	message any
	role    bool
	err     error
}

// codec is grpc's own, except for incoming.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() > MaxMessage {
		in.err = requestTooLarge(data.Len())
	} else if m, ok := in.message.(proto.Message); ok && !in.role && data.Len() > counted &&
		values(data.Materialize(), m.ProtoReflect().Descriptor(), maxValues, 1) == 0 {
		in.err = tooManyValues()
	} else if err := c.CodecV2.Unmarshal(data, in.message); err != nil {
		in.err = received(err)
	}
	return nil
}
