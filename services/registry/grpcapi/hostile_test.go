package grpcapi_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/grpcapi"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
)

const service = ` service { name: "S" method { name: "M" input_type: ".p.In" output_type: ".p.In" } }`

func file(t *testing.T, text string) *descriptorpb.FileDescriptorProto {
	t.Helper()
	f := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal([]byte(`syntax: "proto3" `+text), f); err != nil {
		t.Fatal(err)
	}
	return f
}

func field(name string, n int, message string) string {
	return fmt.Sprintf(` field { name: %q number: %d label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: %q }`, name, n, message)
}

// TestDescriptorsAreNotBelieved: each row is a set of descriptors that somebody made up, and what becomes of it.
func TestDescriptorsAreNotBelieved(t *testing.T) {
	wide, chain, names := strings.Builder{}, strings.Builder{}, strings.Builder{}
	for i := range 3000 {
		fmt.Fprintf(&wide, ` message_type { name: "T%d" }`, i)
		fmt.Fprintf(&chain, ` message_type { name: "T%d" %s }`, i, field("next", 1, fmt.Sprintf(".p.T%d", i+1)))
		fmt.Fprintf(&names, ` value { name: "V%d" number: %d }`, i, i)
	}
	var fields, crossed strings.Builder
	for i := range 2500 {
		fields.WriteString(field(fmt.Sprintf("f%d", i), i+1, fmt.Sprintf(".p.T%d", i)))
	}
	for i := range 60 {
		fmt.Fprintf(&crossed, ` message_type { name: "X%d"`, i)
		for j := range 60 {
			crossed.WriteString(field(fmt.Sprintf("x%d", j), j+1, fmt.Sprintf(".p.X%d", j)))
		}
		crossed.WriteString(" }")
	}
	deep := `field { name: "x" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }`
	for i := range 200 {
		deep = fmt.Sprintf(`nested_type { name: "N%d" %s }`, i, deep)
	}
	for _, row := range []struct {
		name  string
		files []*descriptorpb.FileDescriptorProto
		raw   []byte
		want  string // of the error or of what is skipped; empty = a tool
	}{
		{name: "no bytes", raw: []byte{}, want: "no FileDescriptorSet"},
		{name: "other bytes", raw: []byte("hello"), want: "no FileDescriptorSet"},
		{name: "an import of itself", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" dependency: "a" message_type { name: "In" }`+service),
		}, want: `imports itself`},
		{name: "imports in a circle", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" dependency: "b" message_type { name: "In" }`+service), file(t, `name: "b" package: "q" dependency: "a"`),
		}},
		{name: "a type that is not there", files: []*descriptorpb.FileDescriptorProto{file(t, `name: "a" package: "p"`+service)}, want: "In"},
		{name: "an import of a type that is not there", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" dependency: "gone" message_type { name: "In"`+field("x", 1, ".gone.X")+` }`+service),
		}, want: "the type gone.X is not described"},
		{name: "an import of options that is not there", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" dependency: "company/options.proto" message_type { name: "In" }`+service),
		}},
		{name: "two files of one name", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" }`+service), file(t, `name: "a" package: "q"`),
		}},
		{name: "two types of one name", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" } message_type { name: "In" }`+service),
		}, want: "already declared"},
		{name: "one type in two files", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" }`+service), file(t, `name: "b" package: "p" message_type { name: "In" }`),
		}},
		{name: "a message that contains itself", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In"`+field("in", 1, ".p.In")+` }`+service),
		}},
		{name: "a false timestamp", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "evil.proto" package: "google.protobuf" message_type { name: "Timestamp" }`),
			file(t, `name: "a" package: "p" dependency: "evil.proto" message_type { name: "In"`+field("x", 1, ".google.protobuf.Timestamp")+` }`+service),
		}, want: "cannot resolve type"},
		{name: "a false file of the right name", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "google/protobuf/timestamp.proto" package: "google.protobuf" message_type { name: "Timestamp" }`),
			file(t, `name: "a" package: "p" dependency: "google/protobuf/timestamp.proto" message_type { name: "In"`+
				field("x", 1, ".google.protobuf.Timestamp")+` }`+service),
		}},
		{name: "names that are none", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" } service { name: "S/../" method { name: "M" input_type: ".p.In" output_type: ".p.In" } }`),
		}, want: "invalid nested name"},
		{name: "thousands of types in a row", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In"`+field("x", 1, ".p.T0")+` } message_type { name: "T3000" }`+chain.String()+service),
		}, want: "more than 2000 types"},
		{name: "thousands of types in one", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In"`+fields.String()+` }`+wide.String()+service),
		}, want: "more than 2000 types"},
		{name: "types that all have all", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In"`+field("x", 1, ".p.X0")+` }`+crossed.String()+service),
		}},
		{name: "thousands of names in an enum", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" enum_type { name: "E" `+names.String()+` } message_type { name: "In" field { name: "e" number: 1
				label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".p.E" } }`+service),
		}},
		{name: "deeply nested declarations", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" `+deep+` }`+service),
		}, want: "no FileDescriptorSet"},
		{name: "a comment without end", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" } `+service+` source_code_info { location { path: 6 path: 0 path: 2 path: 0
				span: 1 span: 1 span: 2 leading_comments: "`+strings.Repeat("x", 1<<20)+`" } }`),
		}},
		{name: "names of fields that models refuse", files: []*descriptorpb.FileDescriptorProto{
			file(t, `name: "a" package: "p" message_type { name: "In" field { name: "ok" json_name: "not ok {}" number: 1 label: LABEL_OPTIONAL
				type: TYPE_STRING } }`+service),
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			data := row.raw
			if data == nil {
				data = grpctest.Set(t, row.files...)
			}
			api, err := grpcapi.Read(t.Context(), data, options())
			said := strings.Join(api.Skipped, "\n")
			if err != nil {
				said += err.Error()
			}
			if row.want != "" {
				if len(api.Tools) > 0 || !strings.Contains(said, row.want) || len(said) > 1500 {
					t.Errorf("%d tools, %q, want %q", len(api.Tools), said, row.want)
				}
				return
			}
			if err != nil || len(api.Tools) != 1 {
				t.Fatalf("%d tools, %s", len(api.Tools), said)
			}
			tool := api.Tools[0]
			if _, err := schema.Compile(tool.InputSchema); err != nil || len(tool.InputSchema) > 64<<10 || len(tool.Description) > 2100 {
				t.Errorf("%d bytes of schema, %d of description: %v", len(tool.InputSchema), len(tool.Description), err)
			}
			codec, err := tool.Method.Codec()
			if err != nil {
				t.Fatal(err)
			}
			message, err := codec.Encode(canon.Object{})
			if err != nil {
				t.Error(err)
			}
			if out, err := codec.Decode(message); err != nil || string(out) != "{}" {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	big := grpctest.Shop(t)
	big.Options = &descriptorpb.FileOptions{GoPackage: new(strings.Repeat("x", 1<<20))}
	o := options()
	o.MaxBytes = 1 << 20
	_, err := grpcapi.Read(t.Context(), grpctest.Set(t, big), o)
	if err == nil || !strings.Contains(err.Error(), "registry.openapi.max_bytes") {
		t.Errorf("over the limit: %v", err)
	}
}
