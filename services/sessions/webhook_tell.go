package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/libs/ids"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxTold bounds the part of an answer that webhooks are sent, in bytes.
	maxTold = 64 << 10
	// maxToldMessage bounds what they are sent of what somebody is asked.
	maxToldMessage = 4 << 10
)

// tellEnd has the webhooks told of a turn that ends. That of a sub-agent is not told: the turn that began it is.
func (s *Service) tellEnd(tx *journal.Tx, t store.Turn, end *turnv1.TurnEnded) error {
	if t.AgentPath != "" {
		return nil
	}
	if err := s.tell(tx, t, "turn."+statusNames[end.GetStatus()], func(m *sessionsv1.WebhookTurn) {
		m.Status, m.StopReason, m.Error, m.Usage, m.ToolsUsed = statusNames[end.GetStatus()], end.GetStopReason(), end.GetError(), end.GetUsage(), end.GetToolsUsed()
		m.Output, m.OutputTruncated = shorten(end.GetOutput(), maxTold)
		m.EndTime, m.LastSeq, m.LimitReached = stamp(t.EndUs), t.LastSeq, end.GetLimitReached()
	}); err != nil {
		return err
	}
	return tx.DropTurnWebhook(tx.Context(), t.Tenant, t.ID)
}

// tellWait has the webhooks told of what a turn begins to wait for somebody for; waits for sub-agents are not. It asks the database, which a turn
// that waits for a person can bear.
func (s *Service) tellWait(tx *journal.Tx, t store.Turn, w *wait) error {
	typ := "input.requested"
	switch w.kind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		typ = "approval.requested"
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		typ = "resolution.requested"
	default:
		return nil
	}
	usage, err := usageOf(t)
	if err != nil {
		return err
	}
	return s.tell(tx, t, typ, func(m *sessionsv1.WebhookTurn) {
		m.Status, m.Usage = statusNames[turnv1.TurnStatus_TURN_STATUS_WAITING], usage
		m.Wait = &sessionsv1.WebhookWait{
			ApprovalId: w.ID, Kind: waitKinds[w.kind()], CallId: w.CallID, Tool: w.Tool, ExpireTime: stamp(w.ExpiresUs),
		}
		m.Wait.Message, _ = shorten(w.request.GetMessage(), maxToldMessage)
	})
}

// shorten cuts a text to so many bytes, and says whether it did.
func shorten(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	return strings.ToValidUTF8(text[:limit], ""), true
}

// tell writes what the webhooks are to be sent of a turn, in the transaction in which it happens: both stand, or neither.
func (s *Service) tell(tx *journal.Tx, t store.Turn, typ string, fill func(*sessionsv1.WebhookTurn)) error {
	root, err := outermost(tx, t)
	if err != nil {
		return err
	}
	hooks, own, err := toldOf(tx, t, root, typ)
	if err != nil || len(hooks) == 0 {
		return err
	}
	m := &sessionsv1.WebhookTurn{
		TurnId: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Subject: t.Subject, CreateTime: stamp(t.CreateUs), StartTime: stamp(t.StartUs),
	}
	if root.ID != t.ID {
		m.RootTurnId = root.ID
	}
	fill(m)
	body, err := toldBody(&sessionsv1.WebhookEvent{Type: typ, Timestamp: stamp(tx.NowUs), Data: m})
	if err != nil {
		return err
	}
	for _, w := range hooks {
		d := store.Delivery{
			Tenant: t.Tenant, ID: ids.New(ids.Delivery), WebhookID: w.ID, TurnID: t.ID, SessionID: t.SessionID, Type: typ, Body: body,
			NextUs: tx.NowUs, GiveUpUs: tx.NowUs + s.cfg.Webhooks.GiveUp.Microseconds(), CreateUs: tx.NowUs,
		}
		if w.PerTurn {
			d.URL = own
		}
		if err := tx.AddDelivery(tx.Context(), d); err != nil {
			return err
		}
	}
	tx.After(func(context.Context) { s.hooks.kick() })
	return nil
}

// outermost gives the user's turn that a turn works for; itself, if it is one. Only a sub-agent's asks the database.
func outermost(tx *journal.Tx, t store.Turn) (store.Turn, error) {
	if t.AgentPath == "" {
		return t, nil
	}
	line, err := lineage(tx, t)
	if err != nil {
		return t, err
	}
	return line[len(line)-1], nil
}

// toldOf lists the webhooks that want to know of an event of a turn or of those above it, and the address that the user's turn names.
func toldOf(tx *journal.Tx, t, root store.Turn, typ string) (hooks []store.Webhook, own string, err error) {
	for agent := range strings.SplitSeq(agentPath(t), "/") {
		more, err := tx.ToldOf(tx.Context(), t.Tenant, agent)
		if err != nil {
			return nil, "", err
		}
		for _, w := range more { // those of all agents come with each
			if !slices.ContainsFunc(hooks, func(h store.Webhook) bool { return h.ID == w.ID }) {
				hooks = append(hooks, w)
			}
		}
	}
	signer, own, err := tx.TurnWebhook(tx.Context(), t.Tenant, root.ID)
	if err != nil {
		return nil, "", err
	}
	if own != "" {
		hooks = append(hooks, signer)
	}
	return slices.DeleteFunc(hooks, func(w store.Webhook) bool {
		return w.Events != "" && !slices.Contains(strings.Split(w.Events, ","), typ)
	}), own, nil
}

// toldBody is what is sent, as the API writes JSON.
func toldBody(m *sessionsv1.WebhookEvent) ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("webhook body of turn %s: %w", m.GetData().GetTurnId(), err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil { // protojson puts in spaces at random
		return nil, fmt.Errorf("webhook body of turn %s: %w", m.GetData().GetTurnId(), err)
	}
	return out.Bytes(), nil
}
