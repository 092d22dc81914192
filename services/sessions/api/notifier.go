package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/libs/truncate"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

const (
	// maxNotifiedOutput bounds the part of an answer that webhooks receive, in bytes.
	maxNotifiedOutput = 64 << 10
	// maxNotifiedMessage bounds what they receive of a question, in bytes.
	maxNotifiedMessage = 4 << 10
)

// Notifier notifies webhooks of turns; it implements turn.Notifier and wait.Notifier.
type Notifier struct{ Webhooks *webhook.Service }

// TurnEnded implements turn.Notifier. A sub-agent's turn does not count: the turn that called it does.
func (n Notifier) TurnEnded(tx *journal.Tx, t store.Turn) error {
	if t.AgentPath != "" {
		return nil
	}
	end := t.End
	if err := n.notify(tx, t, "turn."+enum.Name(end.GetStatus()), func(m *sessionsv1.WebhookTurn) {
		m.Status, m.StopReason, m.Error, m.Usage, m.ToolsUsed = enum.Name(end.GetStatus()), end.GetStopReason(), end.GetError(), end.GetUsage(),
			end.GetToolsUsed()
		m.Output, m.OutputTruncated = truncate.Cut(end.GetOutput(), maxNotifiedOutput), len(end.GetOutput()) > maxNotifiedOutput
		m.EndTime, m.LastSeq, m.LimitReached = timestamp.Of(t.EndTime), t.LastSeq, end.GetLimitReached()
	}); err != nil {
		return err
	}
	return tx.DeleteTurnWebhook(tx.Context(), t.Tenant, t.ID)
}

// WaitStarted implements wait.Notifier. Waits for sub-agents do not count.
func (n Notifier) WaitStarted(tx *journal.Tx, t store.Turn, w store.Wait) error {
	typ := "input.requested"
	switch w.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		typ = "approval.requested"
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		typ = "resolution.requested"
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		typ = "auth.required"
	default:
		return nil
	}
	return n.notify(tx, t, typ, func(m *sessionsv1.WebhookTurn) {
		m.Status, m.Usage = enum.Name(turnv1.TurnStatus_TURN_STATUS_WAITING), convert.Usage(t)
		m.Wait = &sessionsv1.WebhookWait{
			ApprovalId: w.ID, Kind: enum.Name(w.Kind), CallId: w.CallID, Tool: w.Tool, ExpireTime: timestamp.Of(w.ExpireTime),
		}
		m.Wait.Message = truncate.Cut(w.Request.GetMessage(), maxNotifiedMessage)
	})
}

// notify enqueues an event of a turn for the webhooks that subscribe to it.
func (n Notifier) notify(tx *journal.Tx, t store.Turn, typ string, fill func(*sessionsv1.WebhookTurn)) error {
	root, err := rootTurn(tx, t)
	if err != nil {
		return err
	}
	return n.Webhooks.Enqueue(tx, webhook.Event{
		Type: typ, Turn: t, Root: root, Agents: strings.Split(t.Path(), "/"),
		Body: func() ([]byte, error) {
			m := &sessionsv1.WebhookTurn{
				TurnId: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Subject: t.Subject, CreateTime: timestamp.Of(t.CreateTime),
				StartTime: timestamp.Of(t.StartTime),
			}
			if root.ID != t.ID {
				m.RootTurnId = root.ID
			}
			fill(m)
			return webhookBody(&sessionsv1.WebhookEvent{Type: typ, Timestamp: timestamp.Of(tx.Now()), Data: m})
		},
	})
}

// rootTurn returns the user's turn that t works for; t itself unless it is a sub-agent's. Only a sub-agent's turn costs a query.
func rootTurn(tx *journal.Tx, t store.Turn) (store.Turn, error) {
	if t.AgentPath == "" {
		return t, nil
	}
	line, err := tx.WithAncestors(tx.Context(), t)
	if err != nil {
		return t, err
	}
	return line[len(line)-1], nil
}

// webhookBody encodes an event in the API's JSON.
func webhookBody(m *sessionsv1.WebhookEvent) ([]byte, error) {
	raw, err := canon.Marshal(protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}, m)
	if err != nil {
		return nil, fmt.Errorf("webhook body of turn %s: %w", m.GetData().GetTurnId(), err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil { // protojson puts in spaces at random
		return nil, fmt.Errorf("webhook body of turn %s: %w", m.GetData().GetTurnId(), err)
	}
	return out.Bytes(), nil
}
