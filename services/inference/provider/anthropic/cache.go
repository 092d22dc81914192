package anthropic

// cacheField is what can be left out if a server refuses it.
const cacheField = "cache_control"

// cacheControl ends what the provider keeps for the next request.
type cacheControl struct {
	Type string `json:"type"`
}

// cache marks what the next request begins with: the instructions with the tools before them, and the conversation. The mark of the request
// before stays, as the provider looks back over a limited number of blocks only.
func (c *call) cache(out *body) {
	if c.manner.Unmarked {
		return
	}
	c.cached = true
	mark := &cacheControl{"ephemeral"}
	if n := len(out.System); n > 0 {
		if b, ok := out.System[n-1].(contentBlock); ok {
			b.Cache = mark
			out.System[n-1] = b
		}
	} else if n := len(out.Tools); n > 0 {
		out.Tools[n-1].Cache = mark
	}
	marked := 0
	for i := len(out.Messages) - 1; i >= 0 && marked < 2; i-- {
		m := out.Messages[i]
		if m.Role != "user" {
			continue
		}
		if b, ok := m.Content[len(m.Content)-1].(contentBlock); ok {
			b.Cache = mark
			m.Content[len(m.Content)-1] = b
			marked++
		}
	}
}
