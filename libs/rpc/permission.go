package rpc

import (
	"fmt"
	"sort"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

// Values of the permission of an RPC that are no permissions.
const (
	// Public marks an RPC that needs no permission.
	Public = "public"
	// Authenticated marks an RPC that every caller with a principal may use.
	Authenticated = "authenticated"
)

// publicServices are gRPC's own; their descriptors carry no option of ours.
var publicServices = map[string]bool{
	"grpc.health.v1.Health":                    true,
	"grpc.reflection.v1.ServerReflection":      true,
	"grpc.reflection.v1alpha.ServerReflection": true,
}

// grpcOwn reports whether a method belongs to a service that gRPC itself provides.
func grpcOwn(method string) bool {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return publicServices[service]
}

// Permissions reads the permission of every method of the services from their descriptors. A method without one is an error, so that
// nothing is served by oversight.
func Permissions(services map[string]grpc.ServiceInfo) (map[string]string, error) {
	out := map[string]string{}
	var missing []string
	for name, info := range services {
		for _, m := range info.Methods {
			full := "/" + name + "/" + m.Name
			if publicServices[name] {
				out[full] = Public
				continue
			}
			p := permissionOf(name + "." + m.Name)
			if p == "" {
				missing = append(missing, full)
			}
			out[full] = p
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		return nil, fmt.Errorf("these RPCs declare no (windlass.options.v1.permission): %s", strings.Join(missing, ", "))
	}
	return out, nil
}

func permissionOf(method string) string {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(method))
	if err != nil {
		return ""
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return ""
	}
	return Permission(m)
}

// Permission returns what an RPC declares that its caller needs: a permission, Public or Authenticated; "" if it declares nothing.
func Permission(m protoreflect.MethodDescriptor) string {
	p, ok := proto.GetExtension(m.Options(), optionsv1.E_Permission).(string)
	if !ok {
		return ""
	}
	return p
}
