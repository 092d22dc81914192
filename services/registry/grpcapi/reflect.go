package grpcapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Limits of what a reflection server may say, besides those of Options.
const (
	maxServices = 10_000
	maxFiles    = 10_000
)

// protocols are the versions of the reflection service, whose messages are the same.
var protocols = []string{
	reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// Ping asks a server for its services, to find out whether it is there.
func Ping(ctx context.Context, conn grpc.ClientConnInterface, maxBytes int) error {
	r, _, err := begin(ctx, conn, maxBytes)
	if err != nil {
		return err
	}
	r.end()
	return nil
}

// Reflect asks a server for its services, and returns their files with all that these import, as an encoded FileDescriptorSet in a stable
// order. Services in the files that the server does not list are left out; skipped says which ones it lists and does not describe. The
// context bounds it.
func Reflect(ctx context.Context, conn grpc.ClientConnInterface, maxBytes int) (set []byte, skipped []string, err error) {
	r, services, err := begin(ctx, conn, maxBytes)
	if err != nil {
		return nil, nil, err
	}
	defer r.end()
	for _, s := range services {
		if r.services[s] {
			continue
		}
		err := r.fetch(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: s},
		})
		var refused *refusedError
		switch {
		case errors.As(err, &refused):
			skipped = append(skipped, fmt.Sprintf("service %s: %s", truncate.Bytes(s, 100), err))
		case err != nil:
			return nil, nil, fmt.Errorf("service %s: %w", truncate.Bytes(s, 100), err)
		case !r.services[s]:
			skipped = append(skipped, fmt.Sprintf("service %s: the server lists it and does not describe it", truncate.Bytes(s, 100)))
		}
	}
	for len(r.missing) > 0 {
		path := r.missing[0]
		r.missing = r.missing[1:]
		if r.files[path] != nil {
			continue
		}
		err := r.fetch(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileByFilename{FileByFilename: path},
		})
		var refused *refusedError
		if err != nil && !errors.As(err, &refused) { // many servers have no files of options
			return nil, nil, fmt.Errorf("file %s: %w", truncate.Bytes(path, 100), err)
		}
	}
	set, err = r.set(services)
	return set, skipped, err
}

// reflection is a conversation with a reflection server.
type reflection struct {
	stream   grpc.ClientStream
	end      context.CancelFunc
	maxBytes int

	bytes    int
	files    map[string]*descriptorpb.FileDescriptorProto
	services map[string]bool // in files
	missing  []string        // imported and not read yet
	asked    map[string]bool // ever in missing
}

// begin opens a conversation and reads the names of the services, sorted.
func begin(ctx context.Context, conn grpc.ClientConnInterface, maxBytes int) (*reflection, []string, error) {
	var failed error
	for _, method := range protocols {
		ctx, cancel := context.WithCancel(ctx)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method,
			grpc.MaxCallRecvMsgSize(maxBytes))
		if err == nil {
			r := &reflection{
				stream: stream, end: cancel, maxBytes: maxBytes, files: map[string]*descriptorpb.FileDescriptorProto{},
				services: map[string]bool{}, asked: map[string]bool{},
			}
			var services []string
			if services, err = r.list(); err == nil {
				return r, services, nil
			}
		}
		cancel()
		failed = cmp.Or(failed, err)
		if status.Code(err) != codes.Unimplemented {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("the server has no reflection; enable it there, or give a descriptor set: %w", failed)
}

// refusedError is an error that the server answered within the conversation.
type refusedError struct{ text string }

// Error returns what the server said.
func (e *refusedError) Error() string { return e.text }

// ask sends a request and reads its answer.
func (r *reflection) ask(req *reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
	// After a failed Send, receiving says why.
	_ = r.stream.SendMsg(req)
	resp := &reflectionv1.ServerReflectionResponse{}
	if err := r.stream.RecvMsg(resp); err != nil {
		return nil, err
	}
	if e := resp.GetErrorResponse(); e != nil {
		return nil, &refusedError{fmt.Sprintf("the server answered: %s", truncate.Bytes(e.GetErrorMessage(), 300))}
	}
	return resp, nil
}

func (r *reflection) list() ([]string, error) {
	resp, err := r.ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		return nil, err
	}
	list := resp.GetListServicesResponse()
	if list == nil {
		return nil, errors.New("the server did not answer the question for its services")
	}
	if len(list.GetService()) > maxServices {
		return nil, fmt.Errorf("the server lists more than %d services", maxServices)
	}
	var names []string
	for _, s := range list.GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// fetch reads files.
func (r *reflection) fetch(req *reflectionv1.ServerReflectionRequest) error {
	resp, err := r.ask(req)
	if err != nil {
		return err
	}
	for _, text := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if r.bytes += len(text); r.bytes > 4*r.maxBytes { // servers repeat files
			return tooLarge(r.maxBytes)
		}
		f := &descriptorpb.FileDescriptorProto{}
		if err := (proto.UnmarshalOptions{RecursionLimit: maxNesting}).Unmarshal(text, f); err != nil {
			return errors.New("the server sent a file that is no file descriptor")
		}
		if r.files[f.GetName()] != nil {
			continue
		}
		if len(r.files) >= maxFiles || len(r.asked) > maxFiles {
			return fmt.Errorf("the server has more than %d files", maxFiles)
		}
		r.files[f.GetName()] = f
		for _, s := range f.GetService() {
			r.services[strings.TrimPrefix(f.GetPackage()+"."+s.GetName(), ".")] = true
		}
		for _, dep := range f.GetDependency() {
			if !r.asked[dep] {
				r.asked[dep] = true
				r.missing = append(r.missing, dep)
			}
		}
	}
	return nil
}

// set encodes the files, with the listed services.
func (r *reflection) set(services []string) ([]byte, error) {
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range r.files {
		f.Service = slices.DeleteFunc(f.GetService(), func(s *descriptorpb.ServiceDescriptorProto) bool {
			_, listed := slices.BinarySearch(services, strings.TrimPrefix(f.GetPackage()+"."+s.GetName(), "."))
			return !listed
		})
		set.File = append(set.File, f)
	}
	slices.SortFunc(set.GetFile(), func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err == nil && len(out) > r.maxBytes {
		err = tooLarge(r.maxBytes)
	}
	return out, err
}

func tooLarge(limit int) error {
	return fmt.Errorf("the descriptors have more than %d bytes (registry.openapi.max_bytes)", limit)
}
