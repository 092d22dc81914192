// Package grpccall makes calls of tools that are methods of a gRPC service: it encodes the request message from the arguments, sends it
// once, and decodes the response.
package grpccall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Value is the argument that is the whole request, where the JSON of the request message is no object.
const Value = "value"

// Method says how to call a method. It is stored as JSON with the tool's definition.
type Method struct {
	// Path is "/package.Service/Method".
	Path string `json:"path"`
	// Input and Output are the full names of the messages.
	Input  string `json:"input"`
	Output string `json:"output"`
	// Wrapped means that the request is the argument Value.
	Wrapped bool `json:"wrapped,omitempty"`
	// Stream means that the response is a stream of messages.
	Stream bool `json:"stream,omitempty"`
	// Files is a google.protobuf.FileDescriptorSet in JSON, with all that the messages need.
	Files json.RawMessage `json:"files"`
}

// Codec converts the messages of a method.
type Codec struct {
	Method
	input, output protoreflect.MessageDescriptor
	types         types
}

// Codec links the descriptors of a method.
func (m Method) Codec() (_ *Codec, err error) {
	defer recovered(&err)
	set := &descriptorpb.FileDescriptorSet{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(m.Files, set); err != nil {
		return nil, fmt.Errorf("decode descriptors of %s: %w", m.Path, err)
	}
	files, wrong := Link(set)
	for name, err := range wrong {
		return nil, fmt.Errorf("descriptor %q of %s: %w", name, m.Path, err)
	}
	c := &Codec{Method: m, types: types{dynamicpb.NewTypes(files)}}
	if c.input, err = c.types.message(m.Input); err != nil {
		return nil, fmt.Errorf("message %q of %s: %w", m.Input, m.Path, err)
	}
	if c.output, err = c.types.message(m.Output); err != nil {
		return nil, fmt.Errorf("message %q of %s: %w", m.Output, m.Path, err)
	}
	return c, nil
}

// where is what protojson writes before an error, with spaces that differ by build.
var where = regexp.MustCompile(`^proto:[\s\x{a0}]+(\(line \d+:\d+\):[\s\x{a0}]+)?`)

// Encode returns the request message. The error is written for a model.
func (c *Codec) Encode(args canon.Object) (_ []byte, err error) {
	defer recovered(&err)
	text := args.JSON()
	if c.Wrapped {
		value, ok := args[Value]
		if !ok {
			return nil, fmt.Errorf("arguments/%s: a value is required", Value)
		}
		text = canon.AppendValue(nil, value, json.Number.String)
	}
	m := dynamicpb.NewMessage(c.input)
	if err := (protojson.UnmarshalOptions{Resolver: c.types}).Unmarshal(text, m); err != nil {
		return nil, errors.New("the arguments are no " + c.Input + ": " + where.ReplaceAllString(err.Error(), ""))
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, errors.New("the arguments are no " + c.Input + ": " + where.ReplaceAllString(err.Error(), ""))
	}
	return out, nil
}

// maxNesting bounds how deeply messages of a response are nested.
const maxNesting = 500

// Decode returns a response message as JSON.
func (c *Codec) Decode(message []byte) (_ json.RawMessage, err error) {
	defer recovered(&err)
	m := dynamicpb.NewMessage(c.output)
	o := proto.UnmarshalOptions{Resolver: c.types, RecursionLimit: maxNesting, AllowPartial: true}
	if err := o.Unmarshal(message, m); err != nil {
		return nil, errors.New(where.ReplaceAllString(err.Error(), ""))
	}
	return c.types.json(m)
}

func recovered(err *error) {
	if p := recover(); p != nil { // descriptors and messages come from anywhere
		*err = fmt.Errorf("the descriptors cannot be used: %v", p)
	}
}

// types finds message types: those of the method, then those of this program, which are the well-known ones and details of errors.
type types struct{ own *dynamicpb.Types }

func (t types) message(name string) (protoreflect.MessageDescriptor, error) {
	found, err := t.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	return found.Descriptor(), nil
}

// FindMessageByName implements protoregistry.MessageTypeResolver.
func (t types) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if found, err := t.own.FindMessageByName(name); err == nil {
		return found, nil
	}
	return protoregistry.GlobalTypes.FindMessageByName(name)
}

// FindMessageByURL implements protoregistry.MessageTypeResolver.
func (t types) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if found, err := t.own.FindMessageByURL(url); err == nil {
		return found, nil
	}
	return protoregistry.GlobalTypes.FindMessageByURL(url)
}

// FindExtensionByName implements protoregistry.ExtensionTypeResolver.
func (t types) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return t.own.FindExtensionByName(name)
}

// FindExtensionByNumber implements protoregistry.ExtensionTypeResolver.
func (t types) FindExtensionByNumber(m protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return t.own.FindExtensionByNumber(m, n)
}

// json returns the JSON of a message, which does not vary with the build.
func (t types) json(m proto.Message) (json.RawMessage, error) {
	if err := t.openUnknown(m.ProtoReflect(), 0); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{Resolver: t, AllowPartial: true}.Marshal(m)
	if err != nil {
		return nil, errors.New(where.ReplaceAllString(err.Error(), ""))
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
