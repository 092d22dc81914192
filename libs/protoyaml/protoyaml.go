// Package protoyaml fills messages from YAML, field by field, so that each mistake has its own line.
package protoyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/nearest"
	"github.com/windlass-dev/windlass/libs/truncate"
)

// maxDepth limits objects and lists inside a free value.
const maxDepth = 200

// Reader fills a message from a mapping.
type Reader struct {
	// Name is what people call the message, as in "source".
	Name string
	// Other are the keys of the mapping that are not fields of the message, with where their texts go; nil = they are skipped.
	Other map[string]*string
	// ReadOnly selects fields that cannot be set. They are skipped, or refused like unknown ones if RefuseReadOnly is set.
	ReadOnly       func(protoreflect.FieldDescriptor) bool
	RefuseReadOnly bool
	// Refuse returns why a field cannot have a value, empty if it can; nil = all can.
	Refuse func(fd protoreflect.FieldDescriptor, val *yaml.Node) string
	// Loose reads the value of each field from its text, so that a number can be a text, and a text in quotes a number.
	Loose bool
	// At is called with the path and line of each key and element; nil = not.
	At func(path string, line int)
	// Bad is called with each mistake, and returns false if no more are wanted.
	Bad func(line int, path, message string) bool

	// Fields are the fields of the message that the mapping has, besides read-only ones. Read sets them.
	Fields []string

	full bool
}

// Read fills m from a mapping.
func (r *Reader) Read(m proto.Message, node *yaml.Node) {
	r.message(m.ProtoReflect(), node, "")
	r.tags(node)
}

// Write returns a message as Read takes it.
func Write(m proto.Message) (map[string]any, error) {
	text, err := canon.Marshal(protojson.MarshalOptions{UseProtoNames: true}, m)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, yaml.Unmarshal(text, &out) // numbers stay as they are written
}

func (r *Reader) bad(n *yaml.Node, path, format string, args ...any) {
	if !r.full {
		r.full = !r.Bad(n.Line, path, fmt.Sprintf(format, args...))
	}
}

func (r *Reader) at(path string, line int) {
	if r.At != nil {
		r.At(path, line)
	}
}

// message reads the fields of m that a mapping has. The prefix is the path of m.
func (r *Reader) message(m protoreflect.Message, node *yaml.Node, prefix string) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content) && !r.full; i += 2 {
		key, val := node.Content[i], node.Content[i+1]
		path := prefix + key.Value
		if seen[key.Value] {
			r.bad(key, path, "is a duplicate")
			continue
		}
		seen[key.Value] = true
		r.at(path, key.Line)
		if text, other := r.Other[key.Value]; other && prefix == "" {
			switch {
			case text == nil || val.Tag == "!!null":
			case val.Kind != yaml.ScalarNode:
				r.bad(val, path, "want text")
			default:
				*text = val.Value
			}
			continue
		}
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(key.Value))
		why := ""
		if fd != nil && r.Refuse != nil {
			why = r.Refuse(fd, val)
		}
		switch {
		case fd == nil || r.ReadOnly(fd) && r.RefuseReadOnly:
			r.unknown(m, key, path)
		case why != "":
			r.bad(key, path, "%s", why)
		case !r.ReadOnly(fd):
			if prefix == "" {
				r.Fields = append(r.Fields, key.Value)
			}
			r.field(m, fd, val, path)
		}
	}
}

// OutputOnly reports whether only the server sets a field (AIP-203).
func OutputOnly(fd protoreflect.FieldDescriptor) bool {
	behaviors, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behaviors, annotations.FieldBehavior_OUTPUT_ONLY)
}

func (r *Reader) unknown(m protoreflect.Message, key *yaml.Node, path string) {
	var names []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if !r.ReadOnly(fields.Get(i)) {
			names = append(names, string(fields.Get(i).Name()))
		}
	}
	if near := nearest.Name(key.Value, names); near != "" {
		r.bad(key, path, "is no field of %s: did you mean %q?", r.Name, near)
		return
	}
	r.bad(key, path, "is no field of %s: there are %s", r.Name, strings.Join(names, ", "))
}

// field sets one field from its value.
func (r *Reader) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	if fd.Message() != nil && !fd.IsMap() {
		r.messages(m, fd, val, path)
		return
	}
	r.value(m, fd, val, path)
}

// messages reads a field that holds fields of its own, or a list of such. A free object is read as a whole.
func (r *Reader) messages(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	switch {
	case val.Tag == "!!null":
	case fd.IsList() && val.Kind != yaml.SequenceNode:
		r.bad(val, path, "wants a list of fields")
	case fd.IsList():
		for i, item := range val.Content {
			if r.full {
				return
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			r.at(at, item.Line)
			if item.Kind != yaml.MappingNode {
				r.bad(item, at, "wants fields")
				continue
			}
			r.message(m.Mutable(fd).List().AppendMutable().Message(), item, at+".")
		}
	case val.Kind != yaml.MappingNode:
		r.bad(val, path, "wants fields")
	case fd.Message().ParentFile().Package() == "google.protobuf":
		r.value(m, fd, val, path)
	default:
		r.message(m.Mutable(fd).Message(), val, path+".")
	}
}

// value sets a field by its form as JSON.
func (r *Reader) value(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	if val.Tag == "!!null" || fd.Enum() != nil && val.Tag == "!!str" && val.Value == "" {
		return
	}
	r.lines(val, path)
	if r.Loose {
		loosen(fd, val)
	}
	content, err := plain(val, 1)
	if err != nil {
		r.bad(val, path, "%s", err)
		return
	}
	object, ok := content.(map[string]any)
	if md := fd.Message(); ok && md != nil && md.FullName() == "google.protobuf.Struct" && !fd.IsList() {
		m.Set(fd, protoreflect.ValueOfMessage(canon.Object(object).Struct().ProtoReflect())) // protojson rounds numbers
		return
	}
	if e := enumOf(fd); e != nil {
		content = longNames(e, content)
	}
	text, err := json.Marshal(map[string]any{string(fd.Name()): content})
	if err != nil {
		r.bad(val, path, "%s", err)
		return
	}
	scratch := m.New()
	if err := protojson.Unmarshal(text, scratch.Interface()); err != nil {
		r.bad(val, path, "want %s", wanted(fd))
		return
	}
	if scratch.Has(fd) {
		m.Set(fd, scratch.Get(fd))
	}
}

// lines remembers where the elements of a list or a map are.
func (r *Reader) lines(val *yaml.Node, path string) {
	for i, n := range val.Content {
		switch {
		case val.Kind == yaml.SequenceNode:
			r.at(fmt.Sprintf("%s[%d]", path, i), n.Line)
		case val.Kind == yaml.MappingNode && i%2 == 0:
			r.at(path+"."+n.Value, n.Line)
		}
	}
}

// ownTags are the tags of YAML itself, "" and "!" among them: the type is that which the text has.
var ownTags = []string{"", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map", "!!timestamp", "!!binary", "!!merge"}

// tags refuses nodes with other tags. Programs that know them would read something else than what is written.
func (r *Reader) tags(n *yaml.Node) {
	if !slices.Contains(ownTags, n.Tag) {
		r.bad(n, "", "the tag %s is not known here: write the value out, in quotes if it begins with !", short(n.Tag))
	}
	for _, part := range n.Content {
		r.tags(part)
	}
}

// short truncates a text of the caller's for a message.
func short(text string) string { return truncate.Bytes(text, 100) }

// plain is a node as JSON has it.
func plain(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := plain(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, ok := object[key]; ok {
				return nil, fmt.Errorf("duplicate %q", short(key))
			}
			v, err := plain(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			object[key] = v
		}
		return object, nil
	}
	return nil, errors.New("anchors and aliases are not supported: write the value out")
}

func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!bool":
		var v bool
		err := n.Decode(&v)
		return v, err
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		var v float64 // in a form that JSON does not have, such as .5
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		text, err := json.Marshal(v)
		return json.Number(text), err
	case "!!int":
		var v json.Number
		var i int64
		if err := n.Decode(&i); err != nil {
			return nil, fmt.Errorf("%q is out of range", short(n.Value))
		}
		v = json.Number(fmt.Sprint(i))
		return v, nil
	case "!!null":
		return nil, nil
	}
	return n.Value, nil
}

// loosen has scalars read as what their field takes.
func loosen(fd protoreflect.FieldDescriptor, n *yaml.Node) {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	for _, part := range n.Content {
		loosen(fd, part)
	}
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || fd.Message() != nil || !slices.Contains(ownTags, n.Tag):
	case fd.Kind() == protoreflect.StringKind || fd.Enum() != nil:
		n.Tag = "!!str"
	default:
		n.Tag = (&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).ShortTag()
	}
}

// wanted says what a field takes.
func wanted(fd protoreflect.FieldDescriptor) string {
	what := map[protoreflect.Kind]string{
		protoreflect.StringKind: "text (put numbers and true or false in quotes)", protoreflect.BoolKind: "true or false",
		protoreflect.DoubleKind: "a number", protoreflect.BytesKind: "base64",
	}[fd.Kind()]
	switch {
	case fd.IsMap() && enumOf(fd) != nil:
		return "names with values; the values are " + shortNames(enumOf(fd))
	case fd.IsMap():
		return "names with values; the values are text: put numbers and true or false in quotes"
	case fd.Enum() != nil:
		return shortNames(fd.Enum())
	case what == "":
		what = "a whole number of at least 0"
	}
	if fd.IsList() {
		return "a list of " + what
	}
	return what
}
