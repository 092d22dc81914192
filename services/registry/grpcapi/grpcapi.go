// Package grpcapi makes a tool of each method of gRPC services that a descriptor set or a reflection server describes.
package grpcapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Options say what to make of descriptors.
type Options struct {
	// Tags selects services by name, with or without package; Paths selects methods by globs over "package.Service/Method", and Names by
	// globs over the names of tools. All that are set must hold.
	Tags, Paths, Names []string
	// MaxBytes bounds the descriptors, MaxOperations the number of methods that become tools.
	MaxBytes, MaxOperations int
}

// Tool is a method as a tool.
type Tool struct {
	// Name is "Service_Method", or "package_Service_Method" if another package has such a service.
	Name string `json:"name"`
	// Description is for models.
	Description string `json:"description,omitempty"`
	// Tags is the full name of the service.
	Tags []string `json:"tags,omitempty"`
	// Deprecated is that of method, service or file.
	Deprecated bool `json:"deprecated,omitempty"`
	// InputSchema is the JSON Schema of the arguments; OutputSchema that of the result, empty if it is no object.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Effect is declared by the method's options.
	Effect store.Effect `json:"effect"`
	// Method says how to call it.
	Method grpccall.Method `json:"grpc"`
}

// API is what descriptors describe.
type API struct {
	// Tools are the methods, by name.
	Tools []Tool
	// Skipped says which methods are no tools, and why.
	Skipped []string
}

// Read makes tools of an encoded FileDescriptorSet. Methods that cannot be called are skipped; an error means that none can.
func Read(ctx context.Context, data []byte, o Options) (api API, err error) {
	defer func() {
		if p := recover(); p != nil { // descriptors come from anywhere
			err = fmt.Errorf("the descriptors cannot be read: %v", p)
		}
	}()
	files, wrong, err := parse(data, o)
	if err != nil {
		return API{}, err
	}
	for _, path := range slices.Sorted(maps.Keys(wrong)) {
		api.Skipped = append(api.Skipped, fmt.Sprintf("file %s: %s", truncate.Bytes(path, 100), truncate.Bytes(wrong[path].Error(), 300)))
	}
	methods, err := selected(files, o)
	if err != nil {
		return API{}, err
	}
	for _, m := range methods {
		t, err := m.tool(ctx)
		if ctx.Err() != nil {
			return API{}, ctx.Err()
		}
		if err != nil {
			api.Skipped = append(api.Skipped, fmt.Sprintf("%s: %s", truncate.Bytes(m.path(), 200), err))
			continue
		}
		api.Tools = append(api.Tools, t)
	}
	if len(api.Tools) == 0 {
		why := "no method is selected"
		if len(api.Skipped) > 0 {
			why = "no method can be called: " + api.Skipped[0]
		}
		return API{}, errors.New(why)
	}
	slices.SortFunc(api.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return api, nil
}

// maxNesting bounds how deeply messages are declared inside one another.
const maxNesting = 100

func parse(data []byte, o Options) (*protoregistry.Files, map[string]error, error) {
	if len(data) > o.MaxBytes {
		return nil, nil, tooLarge(o.MaxBytes)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := (proto.UnmarshalOptions{RecursionLimit: maxNesting}).Unmarshal(data, set); err != nil || len(set.GetFile()) == 0 {
		return nil, nil, errors.New("this is no FileDescriptorSet; make one with protoc --descriptor_set_out --include_imports, or buf build -o")
	}
	if len(set.GetFile()) > maxFiles {
		return nil, nil, fmt.Errorf("there are more than %d files", maxFiles)
	}
	files, wrong := grpccall.Link(set)
	return files, wrong, nil
}

// method is a method with the name of its tool.
type method struct {
	protoreflect.MethodDescriptor
	name string
}

// path is "package.Service/Method".
func (m method) path() string { return string(m.Parent().FullName()) + "/" + string(m.Name()) }

// infrastructure is the package of services that are no tools unless they are selected by path or tag: health, reflection, channelz.
const infrastructure = "grpc."

// selected returns the selected methods, with unique names, by path.
func selected(files *protoregistry.Files, o Options) ([]method, error) {
	var services []protoreflect.ServiceDescriptor
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			services = append(services, f.Services().Get(i))
		}
		return true
	})
	slices.SortFunc(services, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	var all []method
	short := map[protoreflect.Name]bool{}
	for _, s := range services {
		if strings.HasPrefix(string(s.FullName()), infrastructure) && len(o.Paths)+len(o.Tags) == 0 ||
			len(o.Tags) > 0 && !slices.Contains(o.Tags, string(s.FullName())) && !slices.Contains(o.Tags, string(s.Name())) {
			continue
		}
		prefix := string(s.Name())
		if short[s.Name()] { // the first one keeps the short name, so that a new version of a package does not rename tools
			prefix = strings.ReplaceAll(string(s.FullName()), ".", "_")
		}
		short[s.Name()] = true
		for i := range s.Methods().Len() {
			m := method{s.Methods().Get(i), prefix + "_" + string(s.Methods().Get(i).Name())}
			if len(o.Paths) > 0 && !glob.Any(o.Paths, m.path()) || len(o.Names) > 0 && !glob.Any(o.Names, m.name) {
				continue
			}
			if all = append(all, m); len(all) > o.MaxOperations {
				return nil, fmt.Errorf("more than %d methods are selected (registry.openapi.max_operations): select some of them by service, "+
					"path or name", o.MaxOperations)
			}
		}
	}
	return unique(all), nil
}

// unique numbers names that are there twice: a_b.C and a.b_C have one name.
func unique(all []method) []method {
	seen := map[string]bool{}
	for i := range all {
		for n, plain := 2, all[i].name; seen[all[i].name]; n++ {
			all[i].name = fmt.Sprintf("%s_%d", plain, n)
		}
		seen[all[i].name] = true
	}
	return all
}

// maxDescription bounds the description of a tool, in bytes.
const maxDescription = 2000

// tool makes a tool of a method. The error says why it cannot be called.
func (m method) tool(ctx context.Context) (Tool, error) {
	if m.IsStreamingClient() {
		return Tool{}, errors.New("a stream of requests cannot be a call of a tool")
	}
	options, ok := m.Options().(*descriptorpb.MethodOptions)
	if !ok {
		options = &descriptorpb.MethodOptions{}
	}
	t := Tool{
		Name: m.name, Tags: []string{string(m.Parent().FullName())}, Deprecated: m.deprecated(options), Effect: effectOf(options),
		Method: grpccall.Method{
			Path: "/" + m.path(), Input: string(m.Input().FullName()), Output: string(m.Output().FullName()), Stream: m.IsStreamingServer(),
			Wrapped: !isObject(m.Input()),
		},
	}
	t.Description = m.description(t.Deprecated)
	var err error
	if t.Method.Files, err = closure(m); err != nil {
		return t, err
	}
	if t.InputSchema, err = m.input(ctx); err != nil {
		return t, err
	}
	t.OutputSchema = m.output(ctx)
	return t, nil
}

func (m method) description(deprecated bool) string {
	text := comment(m)
	if text == "" {
		text = "Calls the method " + m.path() + "."
	}
	if deprecated {
		text = "Deprecated.\n\n" + text
	}
	return truncate.Bytes(text, maxDescription)
}

// comment returns the comment of a declaration, if the descriptors have comments.
func comment(d protoreflect.Descriptor) string {
	where := d.ParentFile().SourceLocations().ByDescriptor(d)
	text := strings.TrimSpace(strings.ToValidUTF8(where.LeadingComments, "\uFFFD"))
	if text == "" {
		text = strings.TrimSpace(strings.ToValidUTF8(where.TrailingComments, "\uFFFD"))
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (m method) deprecated(options *descriptorpb.MethodOptions) bool {
	service, ok := m.Parent().Options().(*descriptorpb.ServiceOptions)
	file, fileOK := m.ParentFile().Options().(*descriptorpb.FileOptions)
	return options.GetDeprecated() || ok && service.GetDeprecated() || fileOK && file.GetDeprecated()
}

// effectOf returns the effect class that a method declares: by its idempotency level, else by the HTTP method that it is mapped to, whose
// meaning is that of RFC 9110. A method that declares nothing has an effect each time.
func effectOf(options *descriptorpb.MethodOptions) store.Effect {
	switch options.GetIdempotencyLevel() {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		return store.Read
	case descriptorpb.MethodOptions_IDEMPOTENT:
		return store.Idempotent
	}
	rule, ok := proto.GetExtension(options, annotations.E_Http).(*annotations.HttpRule)
	if !ok {
		return store.Once
	}
	switch rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return store.Read
	case *annotations.HttpRule_Put, *annotations.HttpRule_Delete:
		return store.Idempotent
	}
	return store.Once
}
