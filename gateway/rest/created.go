package rest

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Creates reports whether a method, "CreateAgent" for example, is a standard one that creates a resource. A turn is accepted instead.
func Creates(method string) bool {
	return strings.HasPrefix(method, "Create") && method != "CreateTurn"
}

// setCreated sets status 201 and the resource's path if the RPC created one.
func setCreated(ctx context.Context, rpc string, w http.ResponseWriter, m proto.Message) {
	pattern, ok := runtime.HTTPPathPattern(ctx)
	if !ok || !Creates(rpc[strings.LastIndexByte(rpc, '/')+1:]) {
		return
	}
	r := m.ProtoReflect()
	names := []protoreflect.Name{"name", "id"} // what is named by its creator is found by that name
	if parent := r.Descriptor().Fields().ByName("bank_id"); parent != nil {
		pattern = strings.ReplaceAll(pattern, "{bank_id=*}", "{bank_id}")
		pattern = strings.ReplaceAll(pattern, "{bank_id}", url.PathEscape(r.Get(parent).String()))
		names = names[1:] // the name of a document may be a path
	}
	if strings.Contains(pattern, "{") { // the resource has no path of its own
		names = nil
	}
	for _, name := range names {
		if fd := r.Descriptor().Fields().ByName(name); fd != nil && r.Get(fd).String() != "" {
			w.Header().Set("Location", pattern+"/"+url.PathEscape(r.Get(fd).String()))
			break
		}
	}
	w.WriteHeader(http.StatusCreated)
}
