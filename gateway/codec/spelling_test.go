package codec_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/gateway/codec"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestSpelling holds the JSON of fields that were strings before they became enums: clients compare these words.
func TestSpelling(t *testing.T) {
	for _, row := range []struct {
		m            proto.Message
		field, words string
	}{
		{&sessionsv1.Turn{}, "status", "queued running waiting completed failed cancelled"},
		{&sessionsv1.Approval{}, "kind", "approval input client_tool resolution child authorization"},
		{&sessionsv1.Approval{}, "status", "pending approved denied answered declined expired void not_done given_up cancelled"},
		{&sessionsv1.WebhookDelivery{}, "status", "pending delivered failed"},
		{&sessionsv1.ScheduleFire{}, "outcome", "starting started queued skipped missed failed gone"},
		{&sessionsv1.Applied{}, "action", "created updated unchanged"},
		{&registryv1.Source{}, "state", "pending ready unreachable invalid"},
		{&registryv1.Execution{}, "state", "open done failed unresolved waiting"},
		{&policyv1.Decision{}, "kind", "tool permission secret"},
	} {
		fd := row.m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(row.field))
		name := fmt.Sprintf("%s of %s", row.field, row.m.ProtoReflect().Descriptor().Name())
		words := strings.Fields(row.words)
		if got := fd.Enum().Values().Len(); got != len(words)+1 {
			t.Errorf("%s has %d values, want %d", name, got, len(words)+1)
		}
		for _, word := range words {
			m := row.m.ProtoReflect().New().Interface()
			text := fmt.Sprintf("%q:%q", row.field, word)
			if err := codec.Unmarshal([]byte("{"+text+"}"), m); err != nil {
				t.Errorf("%s %q: %v", name, word, err)
			}
			if got, err := codec.Marshal(m); err != nil || !strings.Contains(string(got), text) {
				t.Errorf("%s %q is written as %s, %v", name, word, got, err)
			}
		}
	}
}
