package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/nearest"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// reader fills a message from a mapping, field by field, so that each mistake has its own line.
type reader struct {
	doc   *Document
	wrong []fault.Field
}

func (r *reader) bad(n *yaml.Node, path, format string, args ...any) {
	if r.full() {
		return
	}
	r.wrong = append(r.wrong, fault.Field{Path: place(r.doc.Number, r.doc.name(), n.Line, short(path)), Message: fmt.Sprintf(format, args...)})
}

// full reports whether there are more mistakes than are told.
func (r *reader) full() bool { return len(r.wrong) > maxMistakes }

// message reads the fields of m that a mapping has. The prefix is the path of m.
func (r *reader) message(m protoreflect.Message, node *yaml.Node, prefix string) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content) && !r.full(); i += 2 {
		key, val := node.Content[i], node.Content[i+1]
		path := prefix + key.Value
		if seen[key.Value] {
			r.bad(key, path, "is a duplicate")
			continue
		}
		seen[key.Value] = true
		r.doc.lines[path] = key.Line
		if prefix == "" && (key.Value == "kind" || r.doc.Kind == Source && key.Value == SourceKind) {
			continue
		}
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(key.Value))
		switch {
		case fd == nil:
			r.unknown(m, key, path)
			continue
		case fd.Name() == "secret" && m.Descriptor().Name() == "Webhook" && val.Value != "":
			r.bad(key, path, "is made by the server: it cannot be set")
			continue
		case outputOnly(fd):
			continue // so that what the API answers can be applied again (AIP-203)
		}
		if prefix == "" {
			r.doc.Fields = append(r.doc.Fields, key.Value)
		}
		r.field(m, fd, val, path)
	}
}

func outputOnly(fd protoreflect.FieldDescriptor) bool {
	behaviors, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	if slices.Contains(behaviors, annotations.FieldBehavior_OUTPUT_ONLY) {
		return true
	}
	switch fd.ContainingMessage().Name() {
	case "Source":
		return fd.Name() == "id" // a source is known by its name
	case "Schedule":
		return fd.Name() == "revision" // callers may name the one that they saw; a bundle says what there shall be
	}
	return false
}

func (r *reader) unknown(m protoreflect.Message, key *yaml.Node, path string) {
	var names []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if !outputOnly(fields.Get(i)) {
			names = append(names, string(fields.Get(i).Name()))
		}
	}
	if near := nearest.Name(key.Value, names); near != "" {
		r.bad(key, path, "is no field of %s: did you mean %q?", r.doc.Kind, near)
		return
	}
	r.bad(key, path, "is no field of %s: there are %s", r.doc.Kind, strings.Join(names, ", "))
}

// field sets one field from its value.
func (r *reader) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	if fd.Message() != nil && !fd.IsMap() {
		r.messages(m, fd, val, path)
		return
	}
	r.value(m, fd, val, path)
}

// messages reads a field that holds fields of its own, or a list of such. A free object is read as a whole.
func (r *reader) messages(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	switch {
	case val.Tag == "!!null":
	case fd.IsList() && val.Kind != yaml.SequenceNode:
		r.bad(val, path, "wants a list of fields")
	case fd.IsList():
		for i, item := range val.Content {
			if r.full() {
				return
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			r.doc.lines[at] = item.Line
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
func (r *reader) value(m protoreflect.Message, fd protoreflect.FieldDescriptor, val *yaml.Node, path string) {
	if val.Tag == "!!null" || fd.Enum() != nil && val.Tag == "!!str" && val.Value == "" {
		return
	}
	r.lines(val, path)
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
func (r *reader) lines(val *yaml.Node, path string) {
	for i, n := range val.Content {
		switch {
		case val.Kind == yaml.SequenceNode:
			r.doc.lines[fmt.Sprintf("%s[%d]", path, i)] = n.Line
		case val.Kind == yaml.MappingNode && i%2 == 0:
			r.doc.lines[path+"."+n.Value] = n.Line
		}
	}
}

// ownTags are the tags of YAML itself, "" and "!" among them: the type is that which the text has.
var ownTags = []string{"", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map", "!!timestamp", "!!binary", "!!merge"}

// tags refuses nodes with other tags. Programs that know them would read something else than what is written.
func (r *reader) tags(n *yaml.Node) {
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

// wanted says what a field takes.
func wanted(fd protoreflect.FieldDescriptor) string {
	what := map[protoreflect.Kind]string{
		protoreflect.StringKind: "text (put numbers and true or false in quotes)", protoreflect.BoolKind: "true or false",
		protoreflect.DoubleKind: "a number",
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

func malformed(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = strings.Join(typed.Errors, "; ")
	}
	text = string(bytes.ToValidUTF8([]byte(text), nil))
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY, "the bundle is no valid YAML: %s", text)
	e.Fields = []fault.Field{{Path: "yaml", Message: text}}
	return e.Hint("Correct the line that is named.")
}
