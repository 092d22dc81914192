package show

import (
	"strconv"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Webhook returns the row of a webhook: ID, URL, events, agent, state, age and description.
func Webhook(m *sessionsv1.Webhook, now time.Time) []string {
	return []string{
		m.GetId(), output.Cell(webhookURL(m)), orEach(strings.Join(m.GetEvents(), ",")), orEach(m.GetAgentId()),
		output.Cell(webhookState(m)), output.Ago(now, m.GetCreateTime().AsTime()), output.Cell(m.GetDescription()),
	}
}

// Delivery returns the row of a delivery: ID, type, turn, status, attempts, code, next attempt, age and error.
func Delivery(m *sessionsv1.WebhookDelivery, now time.Time) []string {
	next := ""
	if m.GetNextAttemptTime() != nil {
		next = "in " + output.Ago(m.GetNextAttemptTime().AsTime(), now)
	}
	code := ""
	if m.GetResponseCode() > 0 {
		code = strconv.Itoa(int(m.GetResponseCode()))
	}
	return []string{
		m.GetId(), m.GetType(), m.GetTurnId(), enum.Name(m.GetStatus()), strconv.Itoa(int(m.GetAttempts())), code, next,
		output.Ago(now, m.GetCreateTime().AsTime()), output.Cell(m.GetError()),
	}
}

func orEach(s string) string {
	if s == "" {
		return "all"
	}
	return s
}

func webhookURL(m *sessionsv1.Webhook) string {
	if m.GetPerTurn() {
		return "(of each turn)"
	}
	return m.GetUrl()
}

func webhookState(m *sessionsv1.Webhook) string {
	switch {
	case m.GetDisabled() && m.GetLastError() != "":
		return "disabled: " + m.GetLastError()
	case m.GetDisabled():
		return "disabled"
	case m.GetLastError() != "":
		return "failing: " + m.GetLastError()
	}
	return "ok"
}
