package grpccall

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// What files import is often not among them. These are resolved here.
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/sourcecontextpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/typepb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// WellKnown is the package of the types with a JSON form of their own, whose descriptors are always our own: a false one would be read
// wrongly.
const WellKnown = "google.protobuf"

// maxImports bounds the chain of imports.
const maxImports = 200

// Link links files, and says by path which cannot be used. What is imported and absent leaves placeholders.
func Link(set *descriptorpb.FileDescriptorSet) (*protoregistry.Files, map[string]error) {
	l := &linker{
		given: map[string]*descriptorpb.FileDescriptorProto{}, state: map[string]state{}, files: &protoregistry.Files{},
		wrong: map[string]error{},
	}
	for _, f := range set.GetFile() {
		if l.given[f.GetName()] == nil {
			l.given[f.GetName()] = f
		}
	}
	for _, f := range set.GetFile() {
		l.visit(f.GetName(), 0)
	}
	return l.files, l.wrong
}

type state int

const (
	unseen state = iota
	open
	done
)

type linker struct {
	given map[string]*descriptorpb.FileDescriptorProto
	state map[string]state
	files *protoregistry.Files
	wrong map[string]error
}

// visit links a file after what it imports.
func (l *linker) visit(path string, depth int) {
	f := l.given[path]
	if f == nil || l.state[path] != unseen {
		return
	}
	l.state[path] = open
	defer func() { l.state[path] = done }()
	if f.GetPackage() == WellKnown {
		if _, err := protoregistry.GlobalFiles.FindFileByPath(path); err != nil {
			l.wrong[path] = errors.New("only files of Google are in the package " + WellKnown)
		}
		return
	}
	if depth > maxImports {
		l.wrong[path] = errors.New("the chain of imports is too long")
		return
	}
	for _, dep := range f.GetDependency() {
		if l.state[dep] == open {
			l.wrong[path] = fmt.Errorf("it imports itself by way of %q", dep)
			return
		}
		l.visit(dep, depth+1)
	}
	linked, err := l.link(f)
	if err == nil {
		err = l.files.RegisterFile(linked)
	}
	if err != nil {
		l.wrong[path] = errors.New(where.ReplaceAllString(err.Error(), ""))
	}
}

func (l *linker) link(f *descriptorpb.FileDescriptorProto) (_ protoreflect.FileDescriptor, err error) {
	defer recovered(&err)
	return protodesc.FileOptions{AllowUnresolvable: true}.New(f, l)
}

// FindFileByPath implements protodesc.Resolver.
func (l *linker) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if found, err := l.files.FindFileByPath(path); err == nil {
		return found, nil
	}
	if shared(path) {
		return protoregistry.GlobalFiles.FindFileByPath(path)
	}
	return nil, protoregistry.NotFound
}

// FindDescriptorByName implements protodesc.Resolver.
func (l *linker) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if found, err := l.files.FindDescriptorByName(name); err == nil {
		return found, nil
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil || !shared(found.ParentFile().Path()) {
		return nil, protoregistry.NotFound
	}
	return found, nil
}

// shared reports whether a file that is absent may be taken from this program.
func shared(path string) bool {
	return strings.HasPrefix(path, "google/") || strings.HasPrefix(path, "buf/validate/")
}
