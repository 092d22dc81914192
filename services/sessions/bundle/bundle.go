// Package bundle reads and applies YAML bundles: documents of kind "agent", "source", "group", "policy", "route", "schedule" and
// "webhook". Mistakes are named with document, line and field; all of them are found in one go.
package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/protoyaml"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Kinds of documents.
const (
	// Agent is an agent.
	Agent = "agent"
	// Source is a source of tools.
	Source = "source"
	// Group is a tool group.
	Group = "group"
	// Policy is an access policy.
	Policy = "policy"
	// Route chooses the models of turns.
	Route = "route"
	// Schedule begins turns by the clock.
	Schedule = "schedule"
	// Webhook is notified of turns.
	Webhook = "webhook"
)

// kinds lists the kinds for people.
const kinds = "agent, source, group, policy, route, schedule or webhook"

// SourceKind is the key that sets a source's own kind, since "kind" tells the kind of document.
const SourceKind = "source_kind"

// Document is one document of a bundle.
type Document struct {
	// Number counts documents from 1; Line is where it begins.
	Number, Line int
	// Kind says which of those that follow is set.
	Kind     string
	Agent    *sessionsv1.Agent
	Source   *registryv1.Source
	Group    *registryv1.ToolGroup
	Policy   *policyv1.AccessPolicy
	Route    *inferencev1.Route
	Schedule *sessionsv1.Schedule
	Webhook  *sessionsv1.Webhook
	// Fields names the top fields that the document has.
	Fields []string

	lines map[string]int
}

// ID is the name of a source, group, policy or route, and the id of what else it is.
func (d *Document) ID() string {
	switch d.Kind {
	case Agent:
		return d.Agent.GetId()
	case Group:
		return d.Group.GetName()
	case Policy:
		return d.Policy.GetName()
	case Route:
		return d.Route.GetName()
	case Schedule:
		return d.Schedule.GetId()
	case Webhook:
		return d.Webhook.GetId()
	}
	return d.Source.GetName()
}

// Message is the document's resource.
func (d *Document) Message() proto.Message {
	switch d.Kind {
	case Agent:
		return d.Agent
	case Group:
		return d.Group
	case Policy:
		return d.Policy
	case Route:
		return d.Route
	case Schedule:
		return d.Schedule
	case Webhook:
		return d.Webhook
	}
	return d.Source
}

// Has reports whether the document has a top field.
func (d *Document) Has(field string) bool { return slices.Contains(d.Fields, field) }

// Place names a field of the document for people: "document 2 (agent support), line 7: limits.max_steps". A field that
// is not written in the document has the line of the nearest part that is.
func (d *Document) Place(path string) string {
	line := d.Line
	for p := path; p != ""; p = parent(p) {
		if l, ok := d.lines[p]; ok {
			line = l
			break
		}
	}
	return place(d.Number, d.name(), line, path)
}

// name identifies the document to people.
func (d *Document) name() string {
	if id := d.ID(); id != "" {
		return d.Kind + " " + short(id)
	}
	return d.Kind
}

func place(number int, name string, line int, path string) string {
	text := "document " + strconv.Itoa(number)
	if name != "" {
		text += " (" + name + ")"
	}
	text += ", line " + strconv.Itoa(line)
	if path != "" {
		text += ": " + path
	}
	return text
}

func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Parse reads a bundle. The error is a fault that lists every mistake found; a text that is no YAML is MALFORMED_BODY.
func Parse(text string) ([]*Document, error) {
	if err := bounded(text); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var docs []*Document
	var wrong []fault.Field
	for number := 1; ; number++ {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformed(err)
		}
		if number > maxDocuments {
			return nil, fault.Invalid("yaml", "holds more than %d documents", maxDocuments)
		}
		if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
			continue // an empty document, as after a last "---"
		}
		doc, mistakes := read(number, node.Content[0])
		wrong = append(wrong, mistakes...)
		docs = append(docs, doc)
		if len(wrong) > maxMistakes {
			return nil, fault.InvalidFields(append(wrong[:maxMistakes], fault.Field{Path: "yaml", Message: "there are more mistakes"}))
		}
	}
	if len(docs) == 0 && len(wrong) == 0 {
		return nil, fault.Invalid("yaml", "holds no document")
	}
	wrong = append(wrong, twice(docs)...)
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	return docs, nil
}

// twice finds documents about the same thing.
func twice(docs []*Document) []fault.Field {
	var wrong []fault.Field
	seen := map[string]*Document{}
	for _, d := range docs {
		if d.ID() == "" {
			continue
		}
		key := d.Kind + " " + d.ID()
		if first, ok := seen[key]; ok {
			wrong = append(wrong, fault.Field{Path: d.Place(""), Message: fmt.Sprintf("%s is in document %d already", d.name(), first.Number)})
		}
		seen[key] = d
	}
	return wrong
}

// read makes a document of a node.
func read(number int, node *yaml.Node) (*Document, []fault.Field) {
	d := &Document{Number: number, Line: node.Line, lines: map[string]int{}}
	bad := func(line int, path, format string, args ...any) []fault.Field {
		return []fault.Field{{Path: place(number, "", line, path), Message: fmt.Sprintf(format, args...)}}
	}
	if node.Kind != yaml.MappingNode {
		return d, bad(node.Line, "", "want fields, as in \"kind: agent\"")
	}
	kind := value(node, "kind")
	switch {
	case kind == nil:
		return d, bad(node.Line, "kind", "is missing: want "+kinds)
	case kind.Value == Agent:
		d.Kind, d.Agent = Agent, &sessionsv1.Agent{}
	case kind.Value == Source:
		d.Kind, d.Source = Source, &registryv1.Source{Kind: "mcp"}
		if v := value(node, SourceKind); v != nil {
			d.Source.Kind = v.Value
		}
	case kind.Value == Group:
		d.Kind, d.Group = Group, &registryv1.ToolGroup{}
	case kind.Value == Policy:
		d.Kind, d.Policy = Policy, &policyv1.AccessPolicy{}
	case kind.Value == Route:
		d.Kind, d.Route = Route, &inferencev1.Route{}
	case kind.Value == Schedule:
		d.Kind, d.Schedule = Schedule, &sessionsv1.Schedule{}
	case kind.Value == Webhook:
		d.Kind, d.Webhook = Webhook, &sessionsv1.Webhook{}
	default:
		return d, bad(kind.Line, "kind", "%q is unknown: want "+kinds, short(kind.Value))
	}
	r := protoyaml.Reader{
		Name: d.Kind, Other: map[string]*string{"kind": nil}, ReadOnly: readOnly, At: func(path string, line int) { d.lines[path] = line },
	}
	if d.Kind == Source {
		r.Other[SourceKind] = nil
	}
	var wrong []fault.Field
	r.Bad = func(line int, path, message string) bool {
		wrong = append(wrong, fault.Field{Path: place(number, d.name(), line, short(path)), Message: message})
		return len(wrong) <= maxMistakes
	}
	r.Refuse = func(fd protoreflect.FieldDescriptor, val *yaml.Node) string {
		if d.Kind == Webhook && fd.Name() == "secret" && val.Value != "" {
			return "is made by the server: it cannot be set"
		}
		return ""
	}
	r.Read(d.Message(), node)
	d.Fields = r.Fields
	return d, wrong
}

// readOnly reports whether a bundle cannot set a field. It is skipped, so that what the API answers can be applied again (AIP-203).
func readOnly(fd protoreflect.FieldDescriptor) bool {
	switch fd.ContainingMessage().Name() {
	case "Source":
		return fd.Name() == "id" || protoyaml.OutputOnly(fd) // a source is known by its name
	case "Schedule":
		return fd.Name() == "revision" || protoyaml.OutputOnly(fd) // callers may name the one that they saw; a bundle says what there shall be
	}
	return protoyaml.OutputOnly(fd)
}

// short truncates a text of the caller's for a message.
func short(text string) string { return truncate.Bytes(text, 100) }

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

// value finds the value of a key, nil when the mapping has none.
func value(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
