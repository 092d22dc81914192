package grpcapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/services/registry/grpccall"
)

// Limits of what one method needs.
const (
	maxTypes   = 2000
	maxClosure = 1 << 20 // bytes of JSON
)

// closure returns the descriptors of all messages that a method can send or receive, as a FileDescriptorSet in JSON. It has nothing else
// of their files, so that a definition changes only if its messages do.
func closure(m method) (json.RawMessage, error) {
	n := needs{types: map[protoreflect.FullName]bool{}, files: map[string]protoreflect.FileDescriptor{}}
	n.add(m.Input())
	n.add(m.Output())
	for len(n.queue) > 0 {
		d := n.queue[0]
		n.queue = n.queue[1:]
		if d.IsPlaceholder() {
			return nil, fmt.Errorf("the type %s is not described", d.FullName())
		}
		if len(n.types) > maxTypes {
			return nil, fmt.Errorf("it needs more than %d types", maxTypes)
		}
		if d.FullName() == "google.protobuf.Any" { // which probably holds a message of the same file
			for i := range m.ParentFile().Messages().Len() {
				n.add(m.ParentFile().Messages().Get(i))
			}
		}
		if message, ok := d.(protoreflect.MessageDescriptor); ok {
			for i := range message.Fields().Len() {
				n.field(message.Fields().Get(i))
			}
		}
	}
	return n.encode()
}

// needs collects types.
type needs struct {
	queue []protoreflect.Descriptor // those whose fields are not collected yet
	types map[protoreflect.FullName]bool
	files map[string]protoreflect.FileDescriptor
}

func (n *needs) field(f protoreflect.FieldDescriptor) {
	if f.Message() != nil {
		n.add(f.Message())
	}
	if f.Enum() != nil {
		n.add(f.Enum())
	}
}

func (n *needs) add(d protoreflect.Descriptor) {
	if n.types[d.FullName()] {
		return
	}
	n.types[d.FullName()] = true
	n.queue = append(n.queue, d)
	if f := d.ParentFile(); f != nil && f.Package() != grpccall.WellKnown {
		n.files[f.Path()] = f
	}
}

func (n *needs) encode() (json.RawMessage, error) {
	set := &descriptorpb.FileDescriptorSet{}
	paths := make([]string, 0, len(n.files))
	for path := range n.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		set.File = append(set.File, n.file(n.files[path]))
	}
	text, err := protojson.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("its descriptors have no JSON form: %w", err)
	}
	var out bytes.Buffer // protojson varies its spaces
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	if out.Len() > maxClosure {
		return nil, fmt.Errorf("the descriptors of its messages have more than %d bytes", maxClosure)
	}
	return out.Bytes(), nil
}

// file returns a file with the needed types only.
func (n *needs) file(f protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	whole := protodesc.ToFileDescriptorProto(f)
	out := &descriptorpb.FileDescriptorProto{
		Name: whole.Name, Package: whole.Package, Syntax: whole.Syntax, Edition: whole.Edition,
	}
	if features := plain(whole.GetOptions().GetFeatures()); features != nil {
		out.Options = &descriptorpb.FileOptions{Features: features}
	}
	deps := map[string]bool{}
	for i := range f.Messages().Len() {
		if m := n.message(f.Messages().Get(i), whole.GetMessageType()[i], deps); m != nil {
			out.MessageType = append(out.MessageType, m)
		}
	}
	for i := range f.Enums().Len() {
		if n.types[f.Enums().Get(i).FullName()] {
			out.EnumType = append(out.EnumType, enumOf(whole.GetEnumType()[i]))
		}
	}
	delete(deps, f.Path())
	for path := range deps {
		out.Dependency = append(out.Dependency, path)
	}
	slices.Sort(out.GetDependency())
	return out
}

// message returns what is needed of a message; nil if nothing is. One that only contains a needed type has no fields.
func (n *needs) message(d protoreflect.MessageDescriptor, whole *descriptorpb.DescriptorProto, deps map[string]bool,
) *descriptorpb.DescriptorProto {
	out := &descriptorpb.DescriptorProto{Name: whole.Name}
	for i := range d.Messages().Len() {
		if inner := n.message(d.Messages().Get(i), whole.GetNestedType()[i], deps); inner != nil {
			out.NestedType = append(out.NestedType, inner)
		}
	}
	for i := range d.Enums().Len() {
		if n.types[d.Enums().Get(i).FullName()] {
			out.EnumType = append(out.EnumType, enumOf(whole.GetEnumType()[i]))
		}
	}
	if !n.types[d.FullName()] {
		if len(out.GetNestedType())+len(out.GetEnumType()) == 0 {
			return nil
		}
		return out
	}
	if o := whole.GetOptions(); o != nil {
		out.Options = notEmpty(&descriptorpb.MessageOptions{
			MapEntry: o.MapEntry, MessageSetWireFormat: o.MessageSetWireFormat, Features: plain(o.GetFeatures()),
		})
	}
	for _, o := range whole.GetOneofDecl() {
		kept := &descriptorpb.OneofDescriptorProto{Name: o.Name}
		if features := plain(o.GetOptions().GetFeatures()); features != nil {
			kept.Options = &descriptorpb.OneofOptions{Features: features}
		}
		out.OneofDecl = append(out.OneofDecl, kept)
	}
	for i, f := range whole.GetField() {
		kept := proto.CloneOf(f)
		kept.Options = nil
		if o := f.GetOptions(); o != nil {
			kept.Options = notEmpty(&descriptorpb.FieldOptions{Packed: o.Packed, Features: plain(o.GetFeatures())})
		}
		out.Field = append(out.Field, kept)
		if m := d.Fields().Get(i).Message(); m != nil {
			deps[m.ParentFile().Path()] = true
		}
		if e := d.Fields().Get(i).Enum(); e != nil {
			deps[e.ParentFile().Path()] = true
		}
	}
	return out
}

func enumOf(whole *descriptorpb.EnumDescriptorProto) *descriptorpb.EnumDescriptorProto {
	out := &descriptorpb.EnumDescriptorProto{Name: whole.Name}
	if o := whole.GetOptions(); o != nil {
		out.Options = notEmpty(&descriptorpb.EnumOptions{AllowAlias: o.AllowAlias, Features: plain(o.GetFeatures())})
	}
	for _, v := range whole.GetValue() {
		out.Value = append(out.Value, &descriptorpb.EnumValueDescriptorProto{Name: v.Name, Number: v.Number})
	}
	return out
}

// plain returns the features that decide how messages are encoded; nil if there are none.
func plain(f *descriptorpb.FeatureSet) *descriptorpb.FeatureSet {
	if f == nil {
		return nil
	}
	return notEmpty(&descriptorpb.FeatureSet{
		FieldPresence: f.FieldPresence, EnumType: f.EnumType, RepeatedFieldEncoding: f.RepeatedFieldEncoding,
		Utf8Validation: f.Utf8Validation, MessageEncoding: f.MessageEncoding, JsonFormat: f.JsonFormat,
	})
}

// notEmpty returns a message, or nil if no field is set.
func notEmpty[M proto.Message](m M) M {
	if proto.Size(m) == 0 {
		var none M
		return none
	}
	return m
}
