package transcript

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// pairs are the results of the calls of a conversation.
type pairs struct {
	// results are those of the calls of a message, nil for none.
	results map[*turnv1.Message][]*turnv1.ToolResult
	// claimed are the positions of results that belong to a call.
	claimed map[int]bool
}

// slot is a call that has no result yet.
type slot struct {
	message *turnv1.Message
	call    int
}

// paired finds the call of each result. Ids may be repeated: a result belongs to the newest message that has an open call with its id, and
// there to the first one.
func paired(messages []*turnv1.Message) pairs {
	out := pairs{results: map[*turnv1.Message][]*turnv1.ToolResult{}, claimed: map[int]bool{}}
	open := map[string][]slot{} // by id, in order
	for i, m := range messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_ASSISTANT:
			if len(m.GetToolCalls()) > 0 {
				out.results[m] = make([]*turnv1.ToolResult, len(m.GetToolCalls()))
			}
			for n, c := range m.GetToolCalls() {
				open[c.GetCallId()] = append(open[c.GetCallId()], slot{m, n})
			}
		case turnv1.Role_ROLE_TOOL:
			slots := open[m.GetToolResult().GetCallId()]
			if len(slots) == 0 {
				continue
			}
			at := len(slots) - 1
			for at > 0 && slots[at-1].message == slots[at].message {
				at--
			}
			found := slots[at]
			out.results[found.message][found.call] = m.GetToolResult()
			out.claimed[i] = true
			open[m.GetToolResult().GetCallId()] = append(slots[:at:at], slots[at+1:]...)
		}
	}
	return out
}
