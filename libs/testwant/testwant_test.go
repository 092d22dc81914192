package testwant

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestWhatIsWrongIsSaid(t *testing.T) {
	call := func(id, tool string) *turnv1.ToolCall { return &turnv1.ToolCall{CallId: id, Tool: tool} }
	for _, c := range []struct {
		name      string
		got, want any
		says      []string
	}{
		{name: "equal numbers", got: 1, want: 1},
		{name: "equal messages", got: call("c", "t"), want: call("c", "t")},
		{name: "equal lists", got: []string{"a"}, want: []string{"a"}},
		{name: "numbers", got: 1, want: 2, says: []string{" = 1, want 2"}},
		{name: "texts", got: "a b", want: "", says: []string{` = "a b", want ""`}},
		{name: "one field of a message", got: call("c", "t"), want: call("c", "u"), says: []string{`- tool:`, `+ tool:`, `  call_id:`}},
		{name: "no message", got: (*turnv1.ToolCall)(nil), want: call("c", "u"), says: []string{`+ tool:`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := wrong(c.got, c.want)
			if (said == "") != (c.says == nil) {
				t.Errorf("it says %q", said)
			}
			for _, part := range c.says {
				if !strings.Contains(said, part) {
					t.Errorf("%q is not said: %q", part, said)
				}
			}
		})
	}
}
