package runner

import (
	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// talk is the conversation as far as an advance has read and written it.
type talk struct {
	// base is what the model step first was given.
	first string
	base  *step.History
	// written are the messages of each step since.
	written map[string][]*turnv1.Message
}

func newTalk() talk { return talk{written: map[string][]*turnv1.Message{}} }

// maxTalk is the size in bytes up to which a conversation is kept: a longer one is cut by the journal, which knows where.
const maxTalk = 1 << 20

func (t *talk) wrote(req *step.Commit) {
	t.written[req.GetOutcome().GetKey()] = req.GetMessages()
}

// forget drops what a step was about to write.
func (t *talk) forget(key string) { delete(t.written, key) }

// before puts the conversation before a model step together: each answer, then the results of its calls in their order, as the journal
// does. It is nil when something is missing or it grows too large.
func (t *talk) before(infer string) *step.History {
	if t.base == nil || t.base.GetTruncated() {
		return nil
	}
	messages := append([]*turnv1.Message(nil), t.base.GetMessages()...)
	seen := false
	for n := 1; stepkey.Infer(n) != infer; n++ {
		if seen = seen || stepkey.Infer(n) == t.first; !seen {
			continue
		}
		answer := t.written[stepkey.Infer(n)]
		if len(answer) != 1 {
			return nil
		}
		messages = append(messages, answer[0])
		for m := range answer[0].GetToolCalls() {
			result := t.written[stepkey.Tool(n, m)]
			if len(result) != 1 {
				return nil
			}
			messages = append(messages, result[0])
		}
	}
	whole := &step.History{Messages: messages, Inputs: t.base.GetInputs()}
	size := proto.MarshalOptions{UseCachedSize: true}.Size(whole) // its messages do not change
	if !seen && infer != t.first || size > maxTalk {
		return nil
	}
	return whole
}
