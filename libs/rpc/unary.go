package rpc

import (
	"context"

	"google.golang.org/grpc"
)

// asStreams registers a service's unary methods with grpc as streams of one message each way, which they are on the wire too. For a unary
// method grpc itself would read the request before the interceptor runs and write the response after it, and errors there would reach
// callers without a reason.
func (s *Server) asStreams(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	out := *desc
	out.Methods = nil
	out.Streams = append([]grpc.StreamDesc(nil), desc.Streams...)
	for _, m := range desc.Methods {
		info := &grpc.StreamServerInfo{FullMethod: "/" + desc.ServiceName + "/" + m.MethodName}
		handle := func(impl any, ss grpc.ServerStream) error {
			ctx, cancel := s.bound(ss.Context())
			defer cancel()
			resp, err := m.Handler(impl, ctx, ss.RecvMsg, nil)
			if err != nil {
				return err
			}
			return ss.SendMsg(resp)
		}
		out.Streams = append(out.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: func(impl any, ss grpc.ServerStream) error {
			return s.stream(impl, ss, info, handle) // grpc calls its own interceptor only for streams
		}})
	}
	return &out
}

// bound adds the default deadline to a unary call.
func (s *Server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.DefaultTimeout)
}
