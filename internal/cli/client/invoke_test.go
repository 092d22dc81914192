package client_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/clitest/resttest"
	"github.com/windlass-dev/windlass/libs/canon"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// apiMethods returns the methods with an HTTP rule.
func apiMethods() []protoreflect.MethodDescriptor {
	var out []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				if m := methods.Get(j); strings.HasPrefix(string(f.Package()), "windlass.") && proto.HasExtension(m.Options(), annotations.E_Http) {
					out = append(out, m)
				}
			}
		}
		return true
	})
	return out
}

// TestTheGatewayReadsEveryRequestAsItWasWritten: each field of each method arrives, whether path, query, body or header carries it.
func TestTheGatewayReadsEveryRequestAsItWasWritten(t *testing.T) {
	services := &resttest.Services{Responses: map[string]proto.Message{
		sessionsv1.SessionService_ExportSession_FullMethodName: &sessionsv1.ExportSessionResponse{Markdown: "# T"},
	}}
	srv := httptest.NewServer(services.Handler(t))
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	methods := apiMethods()
	if len(methods) < 100 {
		t.Errorf("%d methods have an HTTP rule", len(methods))
	}
	for _, method := range methods {
		t.Run(string(method.FullName()), func(t *testing.T) {
			typ, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			req := typ.New()
			fill(req, 3, &n)
			if _, err := c.Invoke(t.Context(), req.Interface(), nil); err != nil {
				t.Fatal(err)
			}
			got := services.Requests()
			if len(got) != 1 || !proto.Equal(got[0], req.Interface()) {
				t.Errorf("sent %v\narrived %v", req.Interface(), got)
			}
		})
	}
}

// fill sets all fields of a message to values that differ, down to a depth.
func fill(m protoreflect.Message, depth int, n *int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && m.WhichOneof(o) != nil {
			continue
		}
		switch {
		case fd.IsMap():
			if v := fd.MapValue(); v.Message() == nil {
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString("key a").MapKey(), scalar(v, n))
			}
		case fd.IsList():
			list := m.Mutable(fd).List()
			for range 2 {
				switch {
				case fd.Message() == nil:
					list.Append(scalar(fd, n))
				case depth > 0:
					e := list.NewElement()
					fillMessage(e.Message(), depth-1, n)
					list.Append(e)
				}
			}
		case fd.Message() == nil:
			m.Set(fd, scalar(fd, n))
		case depth > 0:
			fillMessage(m.Mutable(fd).Message(), depth-1, n)
		}
	}
}

func fillMessage(m protoreflect.Message, depth int, n *int) {
	*n++
	var well proto.Message
	switch m.Interface().(type) {
	case *timestamppb.Timestamp:
		well = &timestamppb.Timestamp{Seconds: 1_700_000_000 + int64(*n), Nanos: 120_000_000}
	case *durationpb.Duration:
		well = &durationpb.Duration{Seconds: int64(*n), Nanos: 5_000_000}
	case *fieldmaskpb.FieldMask:
		well = &fieldmaskpb.FieldMask{Paths: []string{"display_name", "limits.max_steps"}}
	case *structpb.Struct:
		well = canon.Object{"text": "a&b", "large": canon.FromValue(exact("9007199254740993")), "long": canon.FromValue(exact("1.10"))}.Struct()
	case *structpb.Value:
		well = exact("9007199254740993")
	default:
		fill(m, depth, n)
		return
	}
	proto.Merge(m.Interface(), well)
}

func exact(number string) *structpb.Value {
	v, err := canon.ParseValue([]byte(number))
	if err != nil {
		panic(err)
	}
	return v
}

func scalar(fd protoreflect.FieldDescriptor, n *int) protoreflect.Value {
	*n++
	switch fd.Kind() {
	case protoreflect.StringKind:
		if fd.Name() == "idempotency_key" {
			return protoreflect.ValueOfString(fmt.Sprintf("key %d", *n))
		}
		return protoreflect.ValueOfString(fmt.Sprintf("%s %d: ü, 50 %%, a+b=c&d?", fd.Name(), *n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0xff, byte(*n), 0xfe})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(fd.Enum().Values().Get(1).Number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(0.1 + float64(*n))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(-int32(*n))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(*n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1<<53 + int64(*n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1<<63 + uint64(*n))
	}
	panic("no value for " + fd.Kind().String())
}
