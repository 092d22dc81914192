package grpcapi

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	jsonschema "github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
)

// direction is who sends a message: fields that only the other side sets are left out.
type direction int

const (
	toServer direction = iota
	fromServer
)

// detail is how much of a schema's annotations is kept.
type detail int

const (
	full     detail = iota // comments, up to maxComment each
	brief                  // the first words of comments
	asserted               // what a validator uses
)

// Limits of comments inside a schema, in bytes.
const (
	maxComment = 1000
	maxBrief   = 120
)

// attempts are the ways to write a schema, from the most exact one to the shortest one.
var attempts = []struct {
	detail detail
	depth  int
}{{full, 0}, {brief, 0}, {asserted, 0}, {asserted, 4}, {asserted, 2}, {asserted, 1}}

// preferredSchema is the size up to which a schema is written in full: a model reads it with each request.
const preferredSchema = 64 << 10

// input returns the schema of the arguments. Of a large one first the comments are shortened, then what is nested deeply is left open.
func (m method) input(ctx context.Context) (json.RawMessage, error) {
	var failed error
	for i, a := range attempts {
		c := &converter{direction: toServer, detail: a.detail, depth: a.depth, defs: map[string]any{}}
		root := c.root(m.Input())
		if m.Input() != nil && !isObject(m.Input()) {
			root = object(map[string]any{grpccall.Value: c.message(m.Input())}, []string{grpccall.Value})
		}
		text, err := c.encode(root)
		if err == nil && len(text) > preferredSchema && i < len(attempts)-1 {
			continue
		}
		if err == nil {
			if _, err = jsonschema.Compile(text); err == nil {
				return text, nil
			}
		}
		if failed = err; ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("the schema of its arguments cannot be used: %w", failed)
}

// output returns the schema of the result; nil if it is no object, or there is none that can be used.
func (m method) output(ctx context.Context) json.RawMessage {
	for _, a := range attempts {
		c := &converter{direction: fromServer, detail: a.detail, depth: a.depth, defs: map[string]any{}}
		var root map[string]any
		switch {
		case m.IsStreamingServer():
			root = object(map[string]any{
				"messages": map[string]any{"type": "array", "items": c.message(m.Output())},
				"complete": map[string]any{"type": "boolean", "description": "False if the stream had more messages."},
			}, []string{"messages", "complete"})
		case !isObject(m.Output()):
			return nil
		default:
			root = c.root(m.Output())
		}
		text, err := c.encode(root)
		if err == nil && len(text) <= preferredSchema {
			if _, err := jsonschema.Compile(text); err == nil {
				return text
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// converter writes JSON Schema 2020-12 of the JSON form of messages. Messages become members of "$defs", so that recursive ones stay
// finite.
type converter struct {
	direction direction
	detail    detail
	// depth is the number of messages that are followed one into another; beyond it any value is accepted. 0 = all.
	depth int

	defs  map[string]any
	level int
}

func (c *converter) encode(root map[string]any) (json.RawMessage, error) {
	if len(c.defs) > 0 {
		root["$defs"] = c.defs
	}
	return json.Marshal(root)
}

func object(properties map[string]any, required []string) map[string]any {
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// root is the schema of a whole request or response that is an object.
func (c *converter) root(d protoreflect.MessageDescriptor) map[string]any {
	known, ok := wellKnown(d, c.direction)
	if !ok {
		return c.object(d)
	}
	if out, ok := known.(map[string]any); ok && out["type"] == "object" {
		return out
	}
	return map[string]any{"type": "object"}
}

// message is the schema of a message inside of another one.
func (c *converter) message(d protoreflect.MessageDescriptor) any {
	if known, ok := wellKnown(d, c.direction); ok {
		return known
	}
	name := string(d.FullName())
	if c.defs[name] == nil {
		if c.depth > 0 && c.level >= c.depth {
			return map[string]any{"type": "object"}
		}
		c.defs[name] = true // for references to itself
		c.level++
		c.defs[name] = c.object(d)
		c.level--
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// object is the schema of the fields of a message.
func (c *converter) object(d protoreflect.MessageDescriptor) map[string]any {
	properties := map[string]any{}
	var required []string
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		r := rulesOf(f)
		if c.direction == toServer && r.outputOnly || c.direction == fromServer && r.inputOnly {
			continue
		}
		name := propertyName(f, c.direction)
		properties[name] = c.field(f, r)
		if c.direction == toServer && (r.required || f.Cardinality() == protoreflect.Required) && f.ContainingOneof() == nil {
			required = append(required, name)
		}
	}
	out := object(properties, required)
	if c.direction == fromServer {
		delete(out, "additionalProperties") // servers get new fields
	}
	if text := c.comment(d); text != "" {
		out["description"] = text
	}
	return out
}

var modelSafe = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// propertyName is the name of a field in JSON. A request may also have the declared name, which is used where models do not accept the
// other one.
func propertyName(f protoreflect.FieldDescriptor, d direction) string {
	if d == toServer && !modelSafe.MatchString(f.JSONName()) {
		return f.TextName()
	}
	return f.JSONName()
}

// field is the schema of a field.
func (c *converter) field(f protoreflect.FieldDescriptor, r rules) any {
	var out map[string]any
	switch {
	case f.IsMap():
		out = map[string]any{"type": "object", "additionalProperties": c.value(f.MapValue(), rules{})}
		if names := keys(f.MapKey().Kind()); names != nil {
			out["propertyNames"] = names
		}
	case f.IsList():
		out = map[string]any{"type": "array", "items": c.value(f, r.items())}
	default:
		schema, ok := c.value(f, r).(map[string]any)
		if !ok {
			schema = map[string]any{} // any value
		}
		out = schema
	}
	if c.direction == toServer {
		r.collection(f, out)
	}
	if options, ok := f.Options().(*descriptorpb.FieldOptions); ok && options.GetDeprecated() {
		out["deprecated"] = true
	}
	if text := c.fieldComment(f); text != "" {
		out["description"] = text
	}
	return out
}

// value is the schema of one value of a field.
func (c *converter) value(f protoreflect.FieldDescriptor, r rules) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return c.message(f.Message())
	case protoreflect.EnumKind:
		return enum(f.Enum(), c.direction)
	}
	out := scalar(f.Kind(), c.direction)
	if c.direction == toServer {
		r.value(f, out)
	}
	return out
}

// comment returns the comment of a declaration as far as it is kept.
func (c *converter) comment(d protoreflect.Descriptor) string {
	switch c.detail {
	case full:
		return truncate.Bytes(comment(d), maxComment)
	case brief:
		return truncate.Bytes(comment(d), maxBrief)
	}
	return ""
}

// fieldComment also says which fields exclude each other: as schemas, model APIs do not accept that everywhere.
func (c *converter) fieldComment(f protoreflect.FieldDescriptor) string {
	text := c.comment(f)
	o := f.ContainingOneof()
	if o == nil || o.IsSynthetic() || c.direction == fromServer || c.detail == asserted || o.Fields().Len() < 2 || o.Fields().Len() > 20 {
		return text
	}
	var names []string
	for i := range o.Fields().Len() {
		names = append(names, propertyName(o.Fields().Get(i), c.direction))
	}
	return strings.TrimSpace(text + " At most one of: " + strings.Join(names, ", ") + ".")
}

// behaviors returns what google.api.field_behavior says of a field.
func behaviors(options proto.Message) []annotations.FieldBehavior {
	list, ok := proto.GetExtension(options, annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	if !ok {
		return nil
	}
	return list
}
