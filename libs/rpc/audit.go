package rpc

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Auditor records calls of RPCs with the option `audited`.
type Auditor interface {
	// Record commits a record before it returns.
	Record(ctx context.Context, method string, rec *policyv1.RecordAuditRequest) error
}

// audited reports whether calls of a method are recorded.
func audited(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return false
	}
	yes, _ := proto.GetExtension(m.Options(), optionsv1.E_Audited).(bool)
	return yes
}

// audit records a call whose handler ended, before the caller gets the answer, and returns the call's error. An action that could not be
// recorded is reported as failed, although it was done: no caller may rely on an action without a record.
func (s *Server) audit(ctx context.Context, method string, req, resp any, failed error) error {
	in, ok := req.(proto.Message)
	if !ok || s.cfg.Auditor == nil || onlyValidates(in) {
		return failed
	}
	out, _ := resp.(proto.Message)
	requestID := ""
	md, _ := metadata.FromIncomingContext(ctx)
	if ids := md.Get("x-request-id"); len(ids) == 1 && len(ids[0]) <= 256 {
		requestID = ids[0]
	}
	for _, a := range actionsOf(in, out) {
		rec := &policyv1.RecordAuditRequest{
			Principal: authn.From(ctx), Action: s.permissions[method], Resource: a.resource, RequestId: requestID,
			Outcome: policyv1.AuditOutcome_AUDIT_OUTCOME_DONE, TurnId: text(in, "turn_id", 64), SessionId: text(in, "session_id", 64),
			Reason: a.choice,
		}
		code := a.failed
		if failed != nil {
			code = fault.CodeOf(failed)
		}
		if code != "" {
			rec.Outcome, rec.Reason = policyv1.AuditOutcome_AUDIT_OUTCOME_FAILED, strings.TrimSpace(a.choice+" "+code)
		}
		if err := s.cfg.Auditor.Record(ctx, method, rec); err != nil && failed == nil {
			return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "it was done, but could not be recorded in the audit trail").Cause(err)
		}
	}
	return failed
}

// action is one of the things that a request does.
type action struct {
	// resource is what with, choice what was decided, failed the code of its error.
	resource, choice, failed string
}

// actionsOf returns what a request does: one thing, or one for each item of a batch.
func actionsOf(in, out proto.Message) []action {
	if nameOf(in) == "" {
		if items := itemsOf(in); len(items) > 0 {
			var results []proto.Message
			if out != nil {
				results = itemsOf(out)
			}
			all := make([]action, len(items))
			for i, item := range items {
				all[i] = action{resource: nameOf(item), choice: choiceOf(item)}
				if len(results) == len(items) {
					all[i].failed = errorIn(results[i])
				}
			}
			return all
		}
	}
	return []action{{resource: resourceOf(in, out), choice: choiceOf(in)}}
}

// itemsOf returns the messages of the first list in a message.
func itemsOf(m proto.Message) (out []proto.Message) {
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		f := r.Descriptor().Fields().Get(i)
		if f.Kind() != protoreflect.MessageKind || !f.IsList() {
			continue
		}
		for j := range r.Get(f).List().Len() {
			out = append(out, r.Get(f).List().Get(j).Message().Interface())
		}
		return out
	}
	return nil
}

// errorIn returns the code of the error in a batch's result; empty if it succeeded.
func errorIn(m proto.Message) string {
	r := m.ProtoReflect()
	f := r.Descriptor().Fields().ByName("error")
	if f == nil || f.Kind() != protoreflect.MessageKind || f.IsList() || !r.Has(f) {
		return ""
	}
	if code := text(r.Get(f).Message().Interface(), "code", 64); code != "" {
		return code
	}
	return "failed"
}

func onlyValidates(m proto.Message) bool {
	r := m.ProtoReflect()
	f := r.Descriptor().Fields().ByName("validate_only")
	return f != nil && f.Kind() == protoreflect.BoolKind && r.Get(f).Bool()
}

// text returns a field of a message; empty if it is no text, or longer than limit.
func text(m proto.Message, name protoreflect.Name, limit int) string {
	r := m.ProtoReflect()
	f := r.Descriptor().Fields().ByName(name)
	if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
		return ""
	}
	if v := r.Get(f).String(); len(v) <= limit {
		return v
	}
	return ""
}

// maxResource is the longest resource that is recorded, in bytes.
const maxResource = 512

// resourceOf returns the name or ID that a request is about, else that of the resource in it, else that of the response.
func resourceOf(in, out proto.Message) string {
	if v := nameOf(in); v != "" {
		return v
	}
	r := in.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		f := r.Descriptor().Fields().Get(i)
		if f.Kind() != protoreflect.MessageKind || f.IsList() || f.IsMap() || !r.Has(f) {
			continue
		}
		if v := nameOf(r.Get(f).Message().Interface()); v != "" {
			return v
		}
	}
	if out == nil {
		return ""
	}
	return nameOf(out)
}

// nameOf returns the first field of a message that names something.
func nameOf(m proto.Message) string {
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		f := r.Descriptor().Fields().Get(i)
		if n := string(f.Name()); n == "name" || n == "id" || n == "source" || strings.HasSuffix(n, "_id") {
			if v := text(m, f.Name(), maxResource); v != "" {
				return v
			}
		}
	}
	return ""
}

// maxChoice is the longest choice that is recorded: longer texts are those of users.
const maxChoice = 16

// choiceOf returns what a request decides, if it has such a field: "approve" or "deny", for example.
func choiceOf(m proto.Message) string {
	for _, name := range []protoreflect.Name{"decision", "resolution", "action"} {
		if v := text(m, name, maxChoice); v != "" {
			return v
		}
	}
	return ""
}
