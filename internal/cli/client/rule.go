package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/libs/httprule"
)

// keyField is the field of requests that is sent as the header Idempotency-Key.
const keyField = "idempotency_key"

// methodOf returns the method of the API that takes a request, nil if there is none. Each method has a request message of its own, in the
// package of its service.
func methodOf(req proto.Message) (method protoreflect.MethodDescriptor) {
	md := req.ProtoReflect().Descriptor()
	protoregistry.GlobalFiles.RangeFilesByPackage(md.ParentFile().Package(), func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				if m := methods.Get(j); m.Input().FullName() == md.FullName() && len(httprule.Of(m)) > 0 {
					method = m
					return false
				}
			}
		}
		return true
	})
	return method
}

// requestOf returns the HTTP request that the rule of a method makes of its request message.
func requestOf(req proto.Message) (request, error) {
	md := methodOf(req)
	if md == nil {
		return request{}, fmt.Errorf("the API has no method with a %s", req.ProtoReflect().Descriptor().FullName())
	}
	m := proto.Clone(req).ProtoReflect() // what path, header and body have is removed, and the rest is the query
	b := bindingFor(httprule.Of(md), m)
	out, pattern := request{method: b.Method, query: url.Values{}}, b.Pattern
	for {
		before, rest, variable := strings.Cut(pattern, "{")
		out.path += before
		if !variable {
			break
		}
		var name string
		name, pattern, _ = strings.Cut(rest, "}")
		out.path += url.PathEscape(take(m, name))
	}
	if m.Descriptor().Fields().ByName(keyField) != nil {
		out.key = take(m, keyField)
	}
	validText(m)
	var err error
	switch b.Body {
	case "":
	case "*":
		out.body, err = codec.MarshalSet(m.Interface())
		return out, err
	default:
		fd := m.Descriptor().Fields().ByTextName(b.Body)
		if out.body, err = codec.MarshalSet(m.Mutable(fd).Message().Interface()); err != nil {
			return request{}, err
		}
		m.Clear(fd)
	}
	out.query, err = queryOf(m)
	return out, err
}

// bindingFor returns the first binding whose variables are set, else the first.
func bindingFor(bindings []httprule.Binding, m protoreflect.Message) httprule.Binding {
	i := slices.IndexFunc(bindings, func(b httprule.Binding) bool {
		return !slices.ContainsFunc(b.Variables(), func(name string) bool {
			holder, fd := fieldAt(m, name)
			return !holder.Has(fd)
		})
	})
	return bindings[max(i, 0)]
}

// fieldAt returns the message that has a field, such as "id" or "agent.id", and the field.
func fieldAt(m protoreflect.Message, path string) (protoreflect.Message, protoreflect.FieldDescriptor) {
	name, rest, nested := strings.Cut(path, ".")
	fd := m.Descriptor().Fields().ByTextName(name)
	if nested {
		return fieldAt(m.Mutable(fd).Message(), rest)
	}
	return m, fd
}

// take returns the text of a field, and clears it.
func take(m protoreflect.Message, path string) string {
	m, fd := fieldAt(m, path)
	text := m.Get(fd).String()
	m.Clear(fd)
	return text
}

// validText replaces bytes of texts that are not UTF-8, as encoding/json does.
func validText(m protoreflect.Message) {
	check := func(fd protoreflect.FieldDescriptor, v protoreflect.Value, set func(protoreflect.Value)) {
		switch {
		case fd.Message() != nil:
			validText(v.Message())
		case fd.Kind() == protoreflect.StringKind && !utf8.ValidString(v.String()):
			set(protoreflect.ValueOfString(string([]rune(v.String()))))
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			v.Map().Range(func(key protoreflect.MapKey, e protoreflect.Value) bool {
				check(fd.MapValue(), e, func(valid protoreflect.Value) { v.Map().Set(key, valid) })
				return true
			})
		case fd.IsList():
			for i := range v.List().Len() {
				check(fd, v.List().Get(i), func(valid protoreflect.Value) { v.List().Set(i, valid) })
			}
		default:
			check(fd, v, func(valid protoreflect.Value) { m.Set(fd, valid) })
		}
		return true
	})
}

// queryOf returns the fields that are set as query parameters: nested ones with dots, and each value of a list by itself.
func queryOf(m protoreflect.Message) (url.Values, error) {
	out := url.Values{}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil || fd.IsList() || fd.IsMap() {
			return true
		}
		if mask, ok := v.Message().Interface().(*fieldmaskpb.FieldMask); ok { // JSON would change the names of its fields
			out.Set(fd.TextName(), strings.Join(mask.GetPaths(), ","))
			m.Clear(fd)
		}
		return true
	})
	raw, err := codec.MarshalSet(m.Interface())
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var fields any
	if err := dec.Decode(&fields); err != nil {
		return nil, fmt.Errorf("write the query: %w", err)
	}
	flatten(out, "", fields)
	return out, nil
}

func flatten(out url.Values, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, e := range v {
			flatten(out, strings.TrimPrefix(name+"."+key, "."), e)
		}
	case []any:
		for _, e := range v {
			flatten(out, name, e)
		}
	default: // text, json.Number or bool
		out.Add(name, fmt.Sprint(v))
	}
}

// listField returns the name of the list in the responses to a request.
func listField(req proto.Message) string {
	fields := methodOf(req).Output().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); fd.IsList() {
			return fd.TextName()
		}
	}
	return ""
}

// Named returns a copy of a request that names a resource in its path.
func Named(req proto.Message, id string) proto.Message {
	m := proto.Clone(req).ProtoReflect()
	variable := httprule.Of(methodOf(req))[0].Variables()[0]
	m.Set(m.Descriptor().Fields().ByTextName(variable), protoreflect.ValueOfString(id))
	return m.Interface()
}

// Set sets a field of a message to a value that encodes as JSON. The error for a value that the field cannot have is that of the API.
func Set(m proto.Message, field string, value any) error {
	raw, err := json.Marshal(map[string]any{field: value})
	if err != nil {
		return fmt.Errorf("write %s: %w", field, err)
	}
	part := m.ProtoReflect().New().Interface()
	if err := codec.Unmarshal(raw, part); err != nil {
		if e := codec.Explain(raw, m.ProtoReflect().Descriptor()); e != nil {
			return e
		}
		return err
	}
	proto.Merge(m, part)
	return nil
}
