package canon

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestStruct(t *testing.T) {
	o, err := Parse([]byte(`{"s":"x","b":true,"n":null,"i":3,"f":-2.5,"l":[1,{"deep":"y"}],"huge":1e999,"tiny":-1e999}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &structpb.Struct{}
	text := `{"s":"x","b":true,"n":null,"i":3,"f":-2.5,"l":[1,{"deep":"y"}],"huge":1.7976931348623157e308,"tiny":-1.7976931348623157e308}`
	if err := want.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	got := o.Struct()
	for _, v := range got.GetFields() {
		v.ProtoReflect().SetUnknown(nil) // the text of huge numbers
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// numbers are those that a double does not show as they are written, and others.
const numbers = `{"big":9007199254740993,"cents":1.10,"exp":1E5,"huge":1e400,"int":7,"long":123456789012345678901234567890,` +
	`"nested":[{"n":-9223372036854775808}],"point":1.5,"tiny":-1e-400,"zero":-0}`

func TestNumbersInProtobufStayAsTheyAreWritten(t *testing.T) {
	s, err := ParseStruct([]byte(numbers))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := &structpb.Struct{}
	if err := proto.Unmarshal(raw, again); err != nil {
		t.Fatal(err)
	}
	if got := string(StructJSON(again)); got != numbers {
		t.Errorf("got  %s\nwant %s", got, numbers)
	}
	text, err := Marshal(protojson.MarshalOptions{}, again)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := Parse(text); err != nil || string(o.JSON()) != numbers {
		t.Errorf("a message has %s, %v", text, err)
	}
	if text, err := protojson.Marshal(again); err != nil || strings.Contains(string(text), "993") {
		t.Errorf("programs that know only the double read %s, %v", text, err)
	}
}

func TestATextThatIsNotThatOfTheDoubleIsIgnored(t *testing.T) {
	for _, text := range []string{"8", "x", "", "7,", "9007199254740993"} {
		v := structpb.NewNumberValue(7)
		v.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, exact, protowire.BytesType), text))
		if got := string(ValueJSON(v)); got != "7" {
			t.Errorf("%q makes 7 %s", text, got)
		}
	}
	v := structpb.NewNumberValue(7)
	v.ProtoReflect().SetUnknown([]byte{0xff, 0xff})
	if got := string(ValueJSON(v)); got != "7" {
		t.Errorf("broken fields make 7 %s", got)
	}
}
