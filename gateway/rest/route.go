package rest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/windlass-dev/windlass/libs/httprule"
)

// Route is one HTTP binding of an RPC, as declared in proto/.
type Route struct {
	httprule.Binding
	// RPC is the full method name: "/windlass.sessions.v1.AgentService/UpdateAgent".
	RPC string
	// Input describes the request message.
	Input protoreflect.MessageDescriptor
}

// Routes lists the HTTP bindings of all linked-in RPCs of ours, by pattern and method.
func Routes() ([]Route, error) {
	var (
		out   []Route
		wrong error
	)
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "windlass.") {
			return true
		}
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				found, err := routesOf(methods.Get(j))
				if err != nil {
					wrong = err
					return false
				}
				out = append(out, found...)
			}
		}
		return true
	})
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.Pattern < b.Pattern || a.Pattern == b.Pattern && a.Method < b.Method
	})
	return out, wrong
}

func routesOf(md protoreflect.MethodDescriptor) ([]Route, error) {
	var out []Route
	for _, b := range httprule.Of(md) {
		if b.Method == "" {
			return nil, fmt.Errorf("%s: the HTTP rule has no method that we know", md.FullName())
		}
		out = append(out, Route{Binding: b, RPC: fmt.Sprintf("/%s/%s", md.Parent().FullName(), md.Name()), Input: md.Input()})
	}
	return out, nil
}

// query returns the descriptor of a request field that may be given in the query string: one that neither path nor body holds.
func (r Route) query(name string) protoreflect.FieldDescriptor {
	if r.Body == "*" || name == r.Body || slices.Contains(r.Variables(), name) {
		return nil
	}
	fd := r.Input.Fields().ByTextName(name)
	if fd == nil {
		fd = r.Input.Fields().ByJSONName(name)
	}
	return fd
}

// queryNames lists the fields that may be given in the query string.
func (r Route) queryNames() []string {
	var names []string
	for i := range r.Input.Fields().Len() {
		if name := r.Input.Fields().Get(i).TextName(); r.query(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// bodyMessage describes the content of the body, nil if the route takes none.
func (r Route) bodyMessage() protoreflect.MessageDescriptor {
	switch r.Body {
	case "":
		return nil
	case "*":
		return r.Input
	default:
		return r.Input.Fields().ByTextName(r.Body).Message()
	}
}

// table finds routes.
type table struct{ byKey map[string]Route }

func newTable() (*table, error) {
	routes, err := Routes()
	if err != nil {
		return nil, err
	}
	t := &table{byKey: map[string]Route{}}
	for _, r := range routes {
		t.byKey[r.Method+" "+r.Pattern] = r
	}
	return t, nil
}

// plainPattern converts a pattern of the runtime, /v1/agents/{agent.id=*}, to ours.
func plainPattern(pattern string) string { return strings.ReplaceAll(pattern, "=*}", "}") }
