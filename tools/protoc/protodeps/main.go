// Command protodeps writes the .proto text of the files that our API imports from others.
//
// The text is printed from the descriptors inside the pinned Go modules, so it always fits the generated
// Go code that we link, and no registry is asked. Comments of the originals are lost.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	validate "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	openapiv2 "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/genproto/googleapis/api/visibility"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// roots are the files that our protos may import; what they import is written as well.
func roots() []protoreflect.FileDescriptor {
	return []protoreflect.FileDescriptor{
		annotations.File_google_api_annotations_proto,
		annotations.File_google_api_client_proto,
		annotations.File_google_api_field_behavior_proto,
		annotations.File_google_api_field_info_proto,
		annotations.File_google_api_resource_proto,
		httpbody.File_google_api_httpbody_proto,
		visibility.File_google_api_visibility_proto,
		code.File_google_rpc_code_proto,
		errdetails.File_google_rpc_error_details_proto,
		status.File_google_rpc_status_proto,
		validate.File_buf_validate_validate_proto,
		openapiv2.File_protoc_gen_openapiv2_options_annotations_proto,
	}
}

func main() {
	out := flag.String("out", "third_party/proto", "directory to fill")
	flag.Parse()
	w := writer{out: *out, done: map[string]bool{}}
	for _, fd := range roots() {
		if err := w.write(fd); err != nil {
			fmt.Fprintln(os.Stderr, "protodeps:", err)
			os.Exit(1)
		}
	}
}

type writer struct {
	out     string
	done    map[string]bool
	printer protoprint.Printer
}

// write prints fd and everything it imports, except the well-known types: buf brings those itself.
func (w *writer) write(fd protoreflect.FileDescriptor) error {
	if w.done[fd.Path()] || strings.HasPrefix(fd.Path(), "google/protobuf/") {
		return nil
	}
	w.done[fd.Path()] = true
	for i := range fd.Imports().Len() {
		if err := w.write(fd.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	text, err := w.printer.PrintProtoToString(fd)
	if err != nil {
		return fmt.Errorf("print %s: %w", fd.Path(), err)
	}
	file := filepath.Join(w.out, filepath.FromSlash(fd.Path()))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // sources, as git makes them
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // as above
}
