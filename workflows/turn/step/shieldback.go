package step

import (
	"context"
	"slices"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// shieldCallbacks checks what sub-agents in the background have called back with as what it is, the result of a call: a model could get around the
// check else by asking in the background. The events tell of what is read now for the first time.
func (r *Runner) shieldCallbacks(ctx context.Context, w *work, messages []*turnv1.Message) ([]*turnv1.Message, []*turnv1.Event, error) {
	if len(w.loaded.GetAgent().GetShields()) == 0 {
		return messages, nil, nil
	}
	var texts []string
	for _, m := range messages {
		if m.GetFromAgent() != "" {
			texts = append(texts, userTexts(m)...)
		}
	}
	if len(texts) == 0 {
		return messages, nil, nil
	}
	checked, err := r.checkTexts(ctx, w.loaded.GetAgent(), stageResult, texts...)
	if err != nil || checked == nil {
		return messages, nil, err
	}
	out := slices.Clone(messages)
	var fresh []*policyv1.CheckedText
	for i, m := range messages {
		if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
			fresh = nil
		}
		if m.GetFromAgent() == "" {
			continue
		}
		n := len(userTexts(m))
		if n == 0 {
			continue
		}
		out[i] = redactedMessage(m, checked[:n])
		if m.GetTurnId() == w.turn.TurnID {
			fresh = append(fresh, checked[:n]...)
		}
		checked = checked[n:]
	}
	return out, triggered(stageResult, "", fresh), nil
}
