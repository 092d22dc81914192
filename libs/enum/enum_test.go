package enum_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/enum"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestName(t *testing.T) {
	for e, want := range map[turnv1.EffectClass]string{
		turnv1.EffectClass_EFFECT_CLASS_READ:        "read",
		turnv1.EffectClass_EFFECT_CLASS_ONCE:        "once",
		turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED: "",
		99: "", -1: "",
	} {
		if got := enum.Name(e); got != want {
			t.Errorf("%v: %q, want %q", e, got, want)
		}
	}
	if got := enum.Name(turnv1.Verdict_VERDICT_NOT_DONE); got != "not_done" {
		t.Errorf("two words: %q", got)
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]turnv1.Verdict{
		"approved": turnv1.Verdict_VERDICT_APPROVED, "not_done": turnv1.Verdict_VERDICT_NOT_DONE,
		"unspecified": 0, "": 0, "Approved": 0, "VERDICT_APPROVED": 0, "verdict_approved": 0, "of no value": 0,
	} {
		if got := enum.Parse[turnv1.Verdict](name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for i := range turnv1.TurnStatus(0).Descriptor().Values().Len() {
		status := turnv1.TurnStatus(turnv1.TurnStatus(0).Descriptor().Values().Get(i).Number())
		if got := enum.Parse[turnv1.TurnStatus](enum.Name(status)); got != status {
			t.Errorf("%v becomes %v", status, got)
		}
	}
}

func TestShortAndFull(t *testing.T) {
	effect := turnv1.EffectClass(0).Descriptor()
	for full, short := range map[string]string{"EFFECT_CLASS_READ": "read", "EFFECT_CLASS_UNSPECIFIED": "unspecified"} {
		if got := enum.Short(effect, full); got != short {
			t.Errorf("%s: %q", full, got)
		}
		if got := enum.Full(effect, short); got != full {
			t.Errorf("%s: %q", short, got)
		}
	}
	for _, name := range []string{"", "READ", "Read", "EFFECT_CLASS_READ", "reads", "read\n"} {
		if got := enum.Full(effect, name); got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	if got := enum.Short(structpb.NullValue(0).Descriptor(), "NULL_VALUE"); got != "null_value" {
		t.Errorf("an enum of others: %q", got)
	}
}

func TestNames(t *testing.T) {
	if got := enum.Names(turnv1.EffectClass(0).Descriptor()); !slices.Equal(got, []string{"read", "idempotent", "once"}) {
		t.Errorf("%q", got)
	}
}
