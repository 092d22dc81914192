package openapi

import (
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// use says where a message occurs.
type use int

const (
	inRequest use = 1 << iota
	inResponse
)

// api describes the RPCs behind the document, and the messages in their requests and responses.
type api struct {
	messages map[string]protoreflect.MessageDescriptor
	uses     map[string]use
	methods  map[string]protoreflect.MethodDescriptor
}

// describe finds the RPCs of the operations of a document. Some of them have no HTTP rule in proto/, but one in streams.yaml.
func describe(in source) (*api, error) {
	all := linked()
	a := &api{
		messages: map[string]protoreflect.MessageDescriptor{}, uses: map[string]use{}, methods: map[string]protoreflect.MethodDescriptor{},
	}
	for path, operations := range in.Paths {
		for _, op := range operations {
			id, _ := op["operationId"].(string)
			md := all[withoutNumber(id)]
			if md == nil {
				return nil, fmt.Errorf("operation %q at %s names no RPC", id, path)
			}
			a.methods[withoutNumber(id)] = md
			switch {
			case strings.HasPrefix(string(md.Name()), "Update"):
				a.addUpdated(md.Input())
			case md.Name() == "ImportSession":
				// It takes what an export has given, so that its parts have the schemas of responses. Its fields do not say so: those of
				// most requests that create something are messages that responses have too, and may leave out what responses always have.
				a.messages[string(md.Input().Name())] = md.Input()
				a.uses[string(md.Input().Name())] |= inRequest
			default:
				a.add(md.Input(), inRequest)
			}
			a.add(md.Output(), inResponse)
		}
	}
	return a, nil
}

// linked returns our RPCs by Service_Method, as the generator names operations.
func linked() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "windlass.") {
			return true
		}
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				md := methods.Get(j)
				out[string(md.Parent().Name())+"_"+string(md.Name())] = md
			}
		}
		return true
	})
	return out
}

// add notes the use of a message and of all messages in it.
func (a *api) add(md protoreflect.MessageDescriptor, u use) {
	name := string(md.Name())
	if md.ParentFile().Package() == "google.protobuf" || a.uses[name]&u != 0 {
		return
	}
	a.messages[name] = md
	a.uses[name] |= u
	for i := range md.Fields().Len() {
		if inner := md.Fields().Get(i).Message(); inner != nil {
			a.add(inner, u)
		}
	}
}

// addUpdated notes the uses in the request of an update. Its resource has a schema of its own in the body, in which nothing is required.
func (a *api) addUpdated(md protoreflect.MessageDescriptor) {
	for i := range md.Fields().Len() {
		resource := md.Fields().Get(i).Message()
		if resource == nil {
			continue
		}
		for j := range resource.Fields().Len() {
			if inner := resource.Fields().Get(j).Message(); inner != nil {
				a.add(inner, inRequest)
			}
		}
	}
}

// message returns the message behind a schema, nil if there is none. The generator names the body of a request XBody for XRequest.
func (a *api) message(schema string) protoreflect.MessageDescriptor {
	if base, ok := strings.CutSuffix(schema, "Body"); ok {
		return a.messages[base+"Request"]
	}
	return a.messages[schema]
}

func (a *api) usedAs(schema string) use {
	if strings.HasSuffix(schema, "Body") {
		return inRequest
	}
	return a.uses[schema]
}

// method returns the RPC of an operation.
func (a *api) method(operationID string) protoreflect.MethodDescriptor {
	return a.methods[withoutNumber(operationID)]
}

// withoutNumber returns the first name of an operation: the generator numbers the further paths of an RPC.
func withoutNumber(operationID string) string { return strings.TrimRight(operationID, "0123456789") }

// refine adds to a converted schema of a message what only the descriptor says: fields that every response has, and constraints.
func (b *builder) refine(schema object, md protoreflect.MessageDescriptor, u use) {
	props, ok := schema["properties"].(object)
	if md == nil || !ok {
		return
	}
	var always []string
	for _, name := range sortedKeys(props) {
		fd := md.Fields().ByTextName(name)
		prop, isObject := props[name].(object)
		if fd == nil || !isObject {
			continue
		}
		constrain(prop, fd, u)
		if fd.ContainingOneof() == nil { // a response has all fields, set or not
			always = append(always, name)
		}
	}
	if u == inResponse && len(always) > 0 {
		schema["required"] = always
	}
}

// constrain adds the constraints of a string field.
func constrain(prop object, fd protoreflect.FieldDescriptor, u use) {
	rules, ok := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if !ok || rules == nil || rules.GetString() == nil || fd.IsList() {
		return
	}
	text := rules.GetString()
	if values := text.GetIn(); len(values) > 0 {
		if u == inRequest { // empty is the same as absent
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		}
		prop["enum"] = values
	}
	if text.GetMaxLen() > 0 {
		prop["maxLength"] = text.GetMaxLen()
	}
	if text.GetMinLen() > 0 && u == inRequest {
		prop["minLength"] = text.GetMinLen()
	}
	if text.HasPattern() && u == inRequest {
		prop["pattern"] = text.GetPattern()
	}
}

// prune drops schemas that nothing refers to.
func (b *builder) prune() {
	used := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			if target, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(target, "#/components/schemas/")
				if inner, ok := b.schemas[name]; ok && !used[name] {
					used[name] = true
					visit(inner)
				}
			}
			for _, inner := range v {
				visit(inner)
			}
		case map[string]object:
			for _, inner := range v {
				visit(inner)
			}
		case []object:
			for _, inner := range v {
				visit(inner)
			}
		case []any:
			for _, inner := range v {
				visit(inner)
			}
		}
	}
	for _, path := range b.paths {
		visit(path)
	}
	used["Problem"] = true
	for name := range b.schemas {
		if !used[name] {
			delete(b.schemas, name)
		}
	}
}
