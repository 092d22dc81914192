package contract_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestEventsArePackedAsTheirMessage(t *testing.T) {
	want := &turnv1.Events{Events: []*turnv1.Event{{Seq: 1, Type: "turn.queued", TurnId: "trn_1"}, {Seq: 2}, {}}}
	var packed []byte
	for _, e := range want.GetEvents() {
		data, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		packed = contract.PackEvents(packed, data)
	}
	got, err := contract.UnpackEvents(packed)
	if err != nil || !proto.Equal(&turnv1.Events{Events: got}, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := contract.UnpackEvents([]byte("no events")); err == nil {
		t.Error("nonsense was read")
	}
}
