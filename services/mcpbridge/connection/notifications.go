package connection

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// notified handles the server's notifications. It must not block: the transport also reads responses.
func (c *Connection) notified(n mcp.JSONRPCNotification) {
	fields := n.Params.AdditionalFields
	switch n.Method {
	case string(mcp.MethodNotificationProgress):
		token, ok := fields["progressToken"].(string)
		if !ok {
			return
		}
		var p notice.Progress
		p.Done, _ = fields["progress"].(float64)
		p.Total, _ = fields["total"].(float64)
		p.Message, _ = fields["message"].(string)
		c.notices.Progress(token, p)
	case methodLog:
		data, err := json.Marshal(fields["data"])
		if err != nil || len(data) > maxLogBytes {
			return
		}
		m := notice.Log{Data: data}
		m.Level, _ = fields["level"].(string)
		m.Logger, _ = fields["logger"].(string)
		c.notices.Log(m)
	case mcp.MethodNotificationResourceUpdated:
		if uri, ok := fields["uri"].(string); ok {
			c.updates.Deliver(watch.Topic{URI: uri})
		}
	case mcp.MethodNotificationResourcesListChanged:
		c.updates.Deliver(watch.Topic{List: watch.Resources})
	case mcp.MethodNotificationPromptsListChanged:
		c.updates.Deliver(watch.Topic{List: watch.Prompts})
	case mcp.MethodNotificationToolsListChanged:
		c.changed()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		if c.stream.opened() {
			c.changed()
		}
	}
}

// methodLog is the notification with a log message; maxLogBytes limits its data.
const (
	methodLog   = "notifications/message"
	maxLogBytes = 64 << 10
)
