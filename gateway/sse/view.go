package sse

import (
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// viewParameters are the query parameters of streams.
var viewParameters = []string{"after", "event", "include", "types"}

// view is how a reader wants to see the events of a stream.
type view struct {
	// types are event types, or beginnings of them up to a dot ("tool_call."); empty means all.
	types []string
	// unnamed leaves out the type of frames, so that an EventSource gives all of them to onmessage.
	unnamed bool
	// children includes the events of sub-agents.
	children bool
}

// viewOf reads the parameters of a stream.
func viewOf(query url.Values) (view, error) {
	var v view
	for name := range query {
		switch name {
		case "after":
		case "include":
			if query.Get(name) != "children" {
				return v, fault.Invalid(name, "must be %q", "children")
			}
			v.children = true
		case "event":
			if query.Get(name) != "message" {
				return v, fault.Invalid(name, "must be %q", "message")
			}
			v.unnamed = true
		case "types":
			for _, list := range query[name] {
				for t := range strings.SplitSeq(list, ",") {
					pattern, err := typePattern(t)
					if err != nil {
						return v, err
					}
					v.types = append(v.types, pattern)
				}
			}
		default:
			return v, rest.UnknownParameter(name, viewParameters)
		}
	}
	return v, nil
}

var group = regexp.MustCompile(`^[a-z_]+\.\*$`)

// typePattern reads an event type ("turn.completed") or all types of a group ("tool_call.*").
func typePattern(t string) (string, error) {
	if group.MatchString(t) {
		return strings.TrimSuffix(t, "*"), nil
	}
	fd := (&turnv1.Event{}).ProtoReflect().Descriptor().Fields().ByName(eventjson.Payload(t))
	if fd == nil || fd.Kind() != protoreflect.MessageKind || fd.ContainingOneof() == nil {
		return "", fault.Invalid("types", "%q is no event type", strings.ToValidUTF8(t[:min(len(t), 64)], "\uFFFD")).
			Hint("Use types such as turn.completed, or groups such as tool_call.*, separated by commas.")
	}
	return t, nil
}

// shows reports whether events of a type are in the view.
func (v view) shows(eventType string) bool {
	if len(v.types) == 0 {
		return true
	}
	for _, t := range v.types {
		if t == eventType || strings.HasSuffix(t, ".") && strings.HasPrefix(eventType, t) {
			return true
		}
	}
	return false
}
