package openapi

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// use says where a message occurs.
type use int

const (
	inRequest use = 1 << iota
	inResponse
)

// api describes the RPCs behind the document, and the messages in their requests and responses.
type api struct {
	messages map[string]protoreflect.MessageDescriptor
	uses     map[string]use
	methods  map[string]protoreflect.MethodDescriptor
}

func describe() *api {
	a := &api{
		messages: map[string]protoreflect.MessageDescriptor{}, uses: map[string]use{}, methods: map[string]protoreflect.MethodDescriptor{},
	}
	for _, file := range []protoreflect.FileDescriptor{
		sessionsv1.File_windlass_sessions_v1_agents_proto, sessionsv1.File_windlass_sessions_v1_approvals_proto,
		sessionsv1.File_windlass_sessions_v1_artifacts_proto, sessionsv1.File_windlass_sessions_v1_budgets_proto,
		sessionsv1.File_windlass_sessions_v1_events_proto,
		sessionsv1.File_windlass_sessions_v1_schedules_proto, sessionsv1.File_windlass_sessions_v1_sessions_proto,
		sessionsv1.File_windlass_sessions_v1_turns_proto, sessionsv1.File_windlass_sessions_v1_webhooks_proto,
		registryv1.File_windlass_registry_v1_groups_proto, registryv1.File_windlass_registry_v1_sources_proto,
		registryv1.File_windlass_registry_v1_tools_proto, policyv1.File_windlass_policy_v1_policy_proto,
		policyv1.File_windlass_policy_v1_secrets_proto, policyv1.File_windlass_policy_v1_connections_proto,
		policyv1.File_windlass_policy_v1_access_proto, inferencev1.File_windlass_inference_v1_inference_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				md := service.Methods().Get(j)
				a.methods[string(service.Name())+"_"+string(md.Name())] = md
				if strings.HasPrefix(string(md.Name()), "Update") {
					a.addUpdated(md.Input())
				} else {
					a.add(md.Input(), inRequest)
				}
				a.add(md.Output(), inResponse)
			}
		}
	}
	return a
}

// add notes the use of a message and of all messages in it.
func (a *api) add(md protoreflect.MessageDescriptor, u use) {
	name := string(md.Name())
	if md.ParentFile().Package() == "google.protobuf" || a.uses[name]&u != 0 {
		return
	}
	a.messages[name] = md
	a.uses[name] |= u
	for i := range md.Fields().Len() {
		if inner := md.Fields().Get(i).Message(); inner != nil {
			a.add(inner, u)
		}
	}
}

// addUpdated notes the uses in the request of an update. Its resource has a schema of its own in the body, in which nothing is required.
func (a *api) addUpdated(md protoreflect.MessageDescriptor) {
	for i := range md.Fields().Len() {
		resource := md.Fields().Get(i).Message()
		if resource == nil {
			continue
		}
		for j := range resource.Fields().Len() {
			if inner := resource.Fields().Get(j).Message(); inner != nil {
				a.add(inner, inRequest)
			}
		}
	}
}

// message returns the message behind a schema, nil if there is none. The generator names the body of a request XBody for XRequest.
func (a *api) message(schema string) protoreflect.MessageDescriptor {
	if base, ok := strings.CutSuffix(schema, "Body"); ok {
		return a.messages[base+"Request"]
	}
	return a.messages[schema]
}

func (a *api) usedAs(schema string) use {
	if strings.HasSuffix(schema, "Body") {
		return inRequest
	}
	return a.uses[schema]
}

// method returns the RPC of an operation. The generator numbers the further paths of an RPC.
func (a *api) method(operationID string) protoreflect.MethodDescriptor {
	return a.methods[strings.TrimRight(operationID, "0123456789")]
}

// refine adds to a converted schema of a message what only the descriptor says: fields that every response has, and constraints.
func (b *builder) refine(schema object, md protoreflect.MessageDescriptor, u use) {
	props, ok := schema["properties"].(object)
	if md == nil || !ok {
		return
	}
	var always []string
	for _, name := range sortedKeys(props) {
		fd := md.Fields().ByTextName(name)
		prop, isObject := props[name].(object)
		if fd == nil || !isObject {
			continue
		}
		constrain(prop, fd, u)
		if fd.ContainingOneof() == nil { // a response has all fields, set or not
			always = append(always, name)
		}
	}
	if u == inResponse && len(always) > 0 {
		schema["required"] = always
	}
}

// constrain adds the constraints of a string field.
func constrain(prop object, fd protoreflect.FieldDescriptor, u use) {
	rules, ok := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if !ok || rules == nil || rules.GetString() == nil || fd.IsList() {
		return
	}
	text := rules.GetString()
	if values := text.GetIn(); len(values) > 0 {
		if u == inRequest { // empty is the same as absent
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		}
		prop["enum"] = values
	}
	if text.GetMaxLen() > 0 {
		prop["maxLength"] = text.GetMaxLen()
	}
	if text.GetMinLen() > 0 && u == inRequest {
		prop["minLength"] = text.GetMinLen()
	}
	if text.HasPattern() && u == inRequest {
		prop["pattern"] = text.GetPattern()
	}
}

// prune drops schemas that nothing refers to.
func (b *builder) prune() {
	used := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			if target, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(target, "#/components/schemas/")
				if inner, ok := b.schemas[name]; ok && !used[name] {
					used[name] = true
					visit(inner)
				}
			}
			for _, inner := range v {
				visit(inner)
			}
		case map[string]object:
			for _, inner := range v {
				visit(inner)
			}
		case []object:
			for _, inner := range v {
				visit(inner)
			}
		case []any:
			for _, inner := range v {
				visit(inner)
			}
		}
	}
	for _, path := range b.paths {
		visit(path)
	}
	used["Problem"] = true
	for name := range b.schemas {
		if !used[name] {
			delete(b.schemas, name)
		}
	}
}
