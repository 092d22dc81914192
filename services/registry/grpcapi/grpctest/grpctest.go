// Package grpctest runs a gRPC server with a shop, whose messages have fields of all kinds.
package grpctest

import (
	"context"
	_ "embed"
	"net"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/rpc/status" // imported by the shop
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/services/registry/grpccall"
)

// shop is shop/v1/shop.proto as its compiler describes it.
//
//go:embed shop.textproto
var shop []byte

var _ = []any{&emptypb.Empty{}, &fieldmaskpb.FieldMask{}, annotations.E_Http} // imported by the shop

// Shop is the file of the service shop.v1.Orders.
func Shop(t testing.TB) *descriptorpb.FileDescriptorProto {
	t.Helper()
	f := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal(shop, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// Set returns an encoded descriptor set.
func Set(t testing.TB, files ...*descriptorpb.FileDescriptorProto) []byte {
	t.Helper()
	out, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Handler handles a call of a method, by its short name.
type Handler func(method string, request *dynamicpb.Message, stream grpc.ServerStream) error

// Server is a running server.
type Server struct {
	// Address is host:port.
	Address string
	// Files are its descriptors.
	Files *protoregistry.Files

	mu     sync.Mutex
	handle Handler
}

// Set changes the handler.
func (s *Server) Set(h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = h
}

// Message returns an empty message.
func (s *Server) Message(t testing.TB, name string) *dynamicpb.Message {
	t.Helper()
	d, err := s.Files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
}

// Options say how a server behaves.
type Options struct {
	// Files are what it serves; empty = the shop.
	Files []*descriptorpb.FileDescriptorProto
	// Reflection is the version of reflection: "v1", "v1alpha" or empty.
	Reflection string
	// Listen wraps the listener; nil = not.
	Listen func(net.Listener) net.Listener
	// Server are options of the server.
	Server []grpc.ServerOption
}

// Serve runs a server until the test ends. A call is answered with an empty message until Set is called.
func Serve(t testing.TB, o Options) *Server {
	t.Helper()
	if len(o.Files) == 0 {
		o.Files = []*descriptorpb.FileDescriptorProto{Shop(t)}
	}
	files, wrong := grpccall.Link(&descriptorpb.FileDescriptorSet{File: o.Files})
	for path, err := range wrong {
		t.Fatalf("%s: %v", path, err)
	}
	s := &Server{Files: files}
	g := grpc.NewServer(o.Server...)
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			g.RegisterService(s.service(f.Services().Get(i)), nil)
		}
		return true
	})
	described := reflection.ServerOptions{Services: g, DescriptorResolver: both{files}}
	switch o.Reflection {
	case "v1":
		reflectionv1.RegisterServerReflectionServer(g, reflection.NewServerV1(described))
	case "v1alpha":
		reflectionv1alpha.RegisterServerReflectionServer(g, reflection.NewServer(described))
	}
	var listen net.ListenConfig
	l, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = l.Addr().String()
	if o.Listen != nil {
		l = o.Listen(l)
	}
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) service(d protoreflect.ServiceDescriptor) *grpc.ServiceDesc {
	out := &grpc.ServiceDesc{ServiceName: string(d.FullName()), Metadata: d.ParentFile().Path()}
	for i := range d.Methods().Len() {
		m := d.Methods().Get(i)
		out.Streams = append(out.Streams, grpc.StreamDesc{
			StreamName: string(m.Name()), ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				request := dynamicpb.NewMessage(m.Input())
				if err := stream.RecvMsg(request); err != nil {
					return err
				}
				s.mu.Lock()
				handle := s.handle
				s.mu.Unlock()
				if handle == nil {
					return stream.SendMsg(dynamicpb.NewMessage(m.Output()))
				}
				return handle(string(m.Name()), request, stream)
			},
		})
	}
	return out
}

// both finds descriptors of a server and those of this program.
type both struct{ own *protoregistry.Files }

var _ protodesc.Resolver = both{}

// FindFileByPath implements protodesc.Resolver.
func (b both) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := b.own.FindFileByPath(path); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName implements protodesc.Resolver.
func (b both) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := b.own.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
