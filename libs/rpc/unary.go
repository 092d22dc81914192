package rpc

import (
	"context"

	"google.golang.org/grpc"
)

// asStreams gives a service's unary methods to grpc as streams of one message each way, which is what they are to grpc too. Where grpc runs a
// unary method itself, it reads the request before the interceptor is called and writes the answer after it: what fails there would reach
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
			return s.stream(impl, ss, info, handle) // grpc does not call it for what is no stream to clients
		}})
	}
	return &out
}

// bound gives a unary call its deadline.
func (s *Server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.DefaultTimeout)
}
