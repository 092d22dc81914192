package rpc

import (
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

// formerNames returns the methods of a service that had another name, by that name ("/package.Service/Method"): those whose
// service was renamed (option former_service_name), and those that were renamed themselves (option former_name).
func formerNames(service string) map[string]string {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil
	}
	s, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil
	}
	out := map[string]string{}
	formerService, _ := proto.GetExtension(s.Options(), optionsv1.E_FormerServiceName).(string)
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		now := "/" + service + "/" + string(m.Name())
		if formerService != "" {
			out["/"+formerService+"/"+string(m.Name())] = now
		}
		if former, _ := proto.GetExtension(m.Options(), optionsv1.E_FormerName).(string); former != "" {
			out["/"+service+"/"+former] = now
		}
	}
	return out
}

// withFormerNames returns the services to register for desc, whose methods are streams: desc with its renamed methods under both
// names, and, if the service was renamed, the same service under its former name. The former names are recorded.
func (s *Server) withFormerNames(desc *grpc.ServiceDesc) []*grpc.ServiceDesc {
	handlers := map[string]grpc.StreamDesc{}
	for _, m := range desc.Streams {
		handlers["/"+desc.ServiceName+"/"+m.StreamName] = m
	}
	out := []*grpc.ServiceDesc{desc}
	var renamed *grpc.ServiceDesc
	for former, now := range formerNames(desc.ServiceName) {
		m, ok := handlers[now]
		if !ok {
			continue
		}
		s.former[former] = now
		service, name := path.Split(strings.TrimPrefix(former, "/"))
		m.StreamName = name
		if service = strings.TrimSuffix(service, "/"); service == desc.ServiceName {
			desc.Streams = append(desc.Streams, m)
			continue
		}
		if renamed == nil {
			renamed = &grpc.ServiceDesc{ServiceName: service, HandlerType: desc.HandlerType, Metadata: desc.Metadata}
			out = append(out, renamed)
		}
		renamed.Streams = append(renamed.Streams, m)
	}
	return out
}

// serviceInfo lists what is served, without former names.
func (s *Server) serviceInfo() map[string]grpc.ServiceInfo {
	out := map[string]grpc.ServiceInfo{}
	for name, info := range s.grpc.GetServiceInfo() {
		var methods []grpc.MethodInfo
		for _, m := range info.Methods {
			if _, former := s.former["/"+name+"/"+m.Name]; !former {
				methods = append(methods, m)
			}
		}
		if info.Methods = methods; len(methods) > 0 {
			out[name] = info
		}
	}
	return out
}
