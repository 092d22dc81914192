package anthropic

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// returns gives back to the provider the blocks of a message with calls, in the order in which it sent them; nil if there are none for it.
func (c *call) returns(m *turnv1.Message) []any {
	if c.manner.Plain || len(m.GetToolCalls()) == 0 {
		return nil
	}
	var out []any
	for _, s := range provider.Steps(m, c.provider.issuer) {
		switch {
		case s.Block != nil:
			out = append(out, s.Block)
		case s.Call != nil:
			out = append(out, c.toolUse(s.Call))
		default:
			out = append(out, content([]*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: s.Text}}})...)
		}
	}
	c.returned = c.returned || out != nil
	return out
}
