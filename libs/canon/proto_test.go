package canon

import (
	"testing"

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
	if got := o.Struct(); !proto.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
