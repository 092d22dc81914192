// Package httprule reads how methods of the API are served over HTTP: their google.api.http option.
package httprule

import (
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Binding is one way to call a method over HTTP.
type Binding struct {
	// Method is the HTTP method; empty for a custom one, which we do not serve.
	Method string
	// Pattern is the path with plain variables: "/v1/agents/{agent.id}".
	Pattern string
	// Body is "" (none), "*" (the whole request except the path's variables) or the field that the body holds.
	Body string
}

// Of returns the bindings of a method, the first one being that of its rule itself; none if it is not served over HTTP.
func Of(method protoreflect.MethodDescriptor) []Binding {
	if !proto.HasExtension(method.Options(), annotations.E_Http) {
		return nil
	}
	rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	var out []Binding
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		out = append(out, binding(r))
	}
	return out
}

func binding(r *annotations.HttpRule) Binding {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return Binding{http.MethodGet, p.Get, r.GetBody()}
	case *annotations.HttpRule_Put:
		return Binding{http.MethodPut, p.Put, r.GetBody()}
	case *annotations.HttpRule_Post:
		return Binding{http.MethodPost, p.Post, r.GetBody()}
	case *annotations.HttpRule_Delete:
		return Binding{http.MethodDelete, p.Delete, r.GetBody()}
	case *annotations.HttpRule_Patch:
		return Binding{http.MethodPatch, p.Patch, r.GetBody()}
	}
	return Binding{Pattern: r.GetCustom().GetPath(), Body: r.GetBody()}
}

// Variables returns the fields that the pattern names, in order.
func (b Binding) Variables() []string {
	parts := strings.Split(b.Pattern, "{")[1:]
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, "}")
	}
	return parts
}
