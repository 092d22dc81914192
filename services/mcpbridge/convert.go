package mcpbridge

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// callFromProto validates a request's arguments. Empty text means no arguments, which is an empty object on the wire: servers reject null.
func callFromProto(req *mcpbridgev1.CallToolRequest) (call, error) {
	c := call{tool: req.GetTool(), arguments: bytes.TrimSpace(req.GetArgumentsJson()), meta: req.GetMeta()}
	if len(c.arguments) == 0 {
		c.arguments = json.RawMessage("{}")
	}
	if c.arguments[0] != '{' || !json.Valid(c.arguments) {
		return call{}, fault.Invalid("arguments_json", "want a JSON object")
	}
	for key := range c.meta {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return call{}, fault.Invalid("meta["+key+"]", "this key is the protocol's own")
		}
	}
	c.canAsk, c.accepts, c.logLevel = req.GetCanAsk(), req.GetAccepts(), req.GetLogLevel()
	if a := req.GetAnswer(); a != nil {
		c.answer.Action = a.GetAction()
		if json.Unmarshal(a.GetState(), &c.state) != nil {
			return call{}, fault.Invalid("answer.state", "this is not what the question came with")
		}
		if len(a.GetResponsesJson()) > 0 && json.Unmarshal(a.GetResponsesJson(), &c.responses) != nil {
			return call{}, fault.Invalid("answer.responses_json", "want a JSON object")
		}
		if c.answer.Action == "accept" {
			c.answer.Content = canon.StructJSON(a.GetContent())
		}
	}
	return c, nil
}

func discoverToProto(c *connection, tools []tool) *mcpbridgev1.DiscoverResponse {
	res := &mcpbridgev1.DiscoverResponse{
		Tools:      make([]*mcpbridgev1.Tool, len(tools)),
		ServerName: c.server.name, ServerVersion: c.server.version, Instructions: c.server.instructions,
		ProtocolVersion: c.version, ListChanged: c.server.listChanged,
	}
	for i, t := range tools {
		res.Tools[i] = &mcpbridgev1.Tool{
			Name: t.name, Title: t.title, Description: t.description,
			RawJson: t.raw, InputSchemaJson: t.input, OutputSchemaJson: t.output,
			ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent, DestructiveHint: t.destructive,
		}
	}
	return res
}

func (s *spec) noticeToProto(n notice) *mcpbridgev1.CallToolResponse {
	if m := n.log; m != nil {
		data, err := s.cleanJSON(m.data)
		if err != nil {
			data = []byte("null")
		}
		return &mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Log{
			Log: &mcpbridgev1.LogMessage{Level: m.level, Logger: s.withhold(m.logger), DataJson: data},
		}}
	}
	p := n.progress
	return &mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Progress{
		Progress: &mcpbridgev1.Progress{Progress: p.done, Total: p.total, Message: s.withhold(p.message)},
	}}
}

func answerToProto(a *answer, limit int) *mcpbridgev1.CallToolResult {
	if a.failure != nil {
		return result.Failure(a.failure.Code, a.failure.Message)
	}
	return result.FromJSON(a.result, limit)
}

func eventToProto(e watch.Event) *mcpbridgev1.WatchResponse {
	return &mcpbridgev1.WatchResponse{ServerId: e.Server, Change: e.Change, Kind: enum.Name(e.Change), Detail: e.Detail}
}
