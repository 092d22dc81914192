package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
)

const (
	ifMatchHeader = "If-Match"
	revisionField = protoreflect.Name("revision")
)

// Revisioned reports whether messages of a kind are resources with a revision, which are answered with an ETag.
func Revisioned(md protoreflect.MessageDescriptor) bool { return revision(md) != nil }

// revision returns the field with the revision of a resource, nil if it has none.
func revision(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	if md == nil {
		return nil
	}
	fd := md.Fields().ByName(revisionField)
	if fd == nil || fd.Kind() != protoreflect.Uint32Kind {
		return nil
	}
	return fd
}

// expected is the revision that a resource must have.
type expected struct {
	body     protoreflect.Name
	revision uint32
}

type expectedKey struct{}

// withIfMatch reads If-Match, which the updates of resources with revisions take. Other requests are refused, since ignoring the header
// would overwrite what the caller wants to keep.
func withIfMatch(ctx context.Context, h http.Header, route Route) (context.Context, error) {
	values := h.Values(ifMatchHeader)
	if len(values) == 0 {
		return ctx, nil
	}
	if route.Method != http.MethodPatch || revision(route.bodyMessage()) == nil {
		return nil, fault.Invalid(ifMatchHeader, "is not supported by %s %s", route.Method, route.Pattern).
			Hint("PATCH takes it for resources that have a revision.")
	}
	if len(values) == 1 && values[0] == "*" {
		return ctx, nil // an update requires the resource to exist anyway
	}
	text, quoted := strings.CutPrefix(values[0], `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseUint(text, 10, 32)
	if len(values) > 1 || !quoted || !closed || err != nil || n == 0 {
		return nil, fault.Invalid(ifMatchHeader, "must be the ETag of the resource, such as \"7\" with its quotes, or *")
	}
	return context.WithValue(ctx, expectedKey{}, expected{protoreflect.Name(route.Body), uint32(n)}), nil
}

// setRevision copies If-Match into the resource of an update.
func setRevision(ctx context.Context, args any) error {
	want, ok := ctx.Value(expectedKey{}).(expected)
	m, isMessage := args.(proto.Message)
	if !ok || !isMessage {
		return nil
	}
	resource := m.ProtoReflect().Mutable(m.ProtoReflect().Descriptor().Fields().ByName(want.body)).Message()
	fd := revision(resource.Descriptor())
	if had := resource.Get(fd).Uint(); had != 0 && had != uint64(want.revision) {
		return fault.Invalid(string(revisionField), "differs from the header %s", ifMatchHeader)
	}
	resource.Set(fd, protoreflect.ValueOfUint32(want.revision))
	return nil
}

// setETag sets the ETag of a resource with a revision.
func setETag(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if m == nil {
		return nil
	}
	if fd := revision(m.ProtoReflect().Descriptor()); fd != nil {
		if n := m.ProtoReflect().Get(fd).Uint(); n > 0 {
			w.Header().Set("ETag", strconv.Quote(strconv.FormatUint(n, 10)))
		}
	}
	return nil
}
