package rpc

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/rpc/comment"
	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

// internalService reports whether all RPCs of a service are for roles of the mesh only.
func internalService(s protoreflect.ServiceDescriptor) bool {
	internal, ok := proto.GetExtension(s.Options(), optionsv1.E_InternalService).(bool)
	return ok && internal
}

// internalMethod reports whether an RPC is for roles of the mesh only.
func internalMethod(m protoreflect.MethodDescriptor) bool {
	internal, ok := proto.GetExtension(m.Options(), optionsv1.E_Internal).(bool)
	return ok && internal
}

// Internal reports whether a method ("/package.Service/Method") is for roles of the mesh only. Callers without a mesh token get
// UNIMPLEMENTED.
func Internal(method string) bool {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return false
	}
	s, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return false
	}
	if internalService(s) {
		return true
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	return m != nil && internalMethod(m)
}

// publicView is the part of a server that external callers can see: what reflection lists and health checks know.
type publicView struct {
	server *Server
	files  func() (*protoregistry.Files, error)
}

func newPublicView(s *Server) *publicView {
	v := &publicView{server: s}
	v.files = sync.OnceValues(v.build) // built lazily, since reflection is rarely used
	return v
}

// register adds reflection of the view to the server.
func (v *publicView) register(s grpc.ServiceRegistrar) {
	opts := reflection.ServerOptions{Services: v, DescriptorResolver: v}
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(opts))
	reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(opts))
}

// GetServiceInfo implements reflection.ServiceInfoProvider.
func (v *publicView) GetServiceInfo() map[string]grpc.ServiceInfo {
	out := map[string]grpc.ServiceInfo{}
	for name, info := range v.server.grpc.GetServiceInfo() {
		info.Methods = slices.DeleteFunc(slices.Clone(info.Methods), func(m grpc.MethodInfo) bool { return Internal("/" + name + "/" + m.Name) })
		if len(info.Methods) > 0 {
			out[name] = info
		}
	}
	return out
}

// FindFileByPath implements protodesc.Resolver.
func (v *publicView) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	files, err := v.files()
	if err != nil {
		return nil, err
	}
	return files.FindFileByPath(path)
}

// FindDescriptorByName implements protodesc.Resolver.
func (v *publicView) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	files, err := v.files()
	if err != nil {
		return nil, err
	}
	return files.FindDescriptorByName(name)
}

// build returns the files of the served services and their imports, without internal services and methods.
func (v *publicView) build() (*protoregistry.Files, error) {
	notes, err := comment.Read()
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] || fd.IsPlaceholder() {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		file := publicFile(fd)
		notes.Annotate(file)
		set.File = append(set.File, file)
	}
	add(errdetails.File_google_rpc_error_details_proto) // no service imports them, and every error has some
	for name := range v.GetServiceInfo() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", name, err)
		}
		add(d.ParentFile())
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("describe what is served: %w", err)
	}
	return files, nil
}

func publicFile(fd protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	out := protodesc.ToFileDescriptorProto(fd)
	services := out.GetService()
	out.Service = nil
	for i := range fd.Services().Len() {
		s := fd.Services().Get(i)
		if internalService(s) {
			continue
		}
		methods := services[i].GetMethod()
		services[i].Method = nil
		for n := range s.Methods().Len() {
			if !internalMethod(s.Methods().Get(n)) {
				services[i].Method = append(services[i].Method, methods[n])
			}
		}
		out.Service = append(out.Service, services[i])
	}
	return out
}
