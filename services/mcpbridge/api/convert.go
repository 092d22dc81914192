package api

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// callFromProto validates a request's arguments. Empty text means no arguments, which is an empty object on the wire: servers reject null.
func callFromProto(req *mcpbridgev1.CallToolRequest) (connection.Call, error) {
	c := connection.Call{
		Tool: req.GetTool(), Arguments: bytes.TrimSpace(req.GetArgumentsJson()), Meta: req.GetMeta(), LogLevel: req.GetLogLevel(),
		Caller: question.Caller{CanAsk: req.GetCanAsk(), Accepts: req.GetAccepts()},
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	if c.Arguments[0] != '{' || !json.Valid(c.Arguments) {
		return connection.Call{}, fault.Invalid("arguments_json", "want a JSON object")
	}
	for key := range c.Meta {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return connection.Call{}, fault.Invalid("meta["+key+"]", "this key is the protocol's own")
		}
	}
	if a := req.GetAnswer(); a != nil {
		c.Caller.Answer.Action = a.GetAction()
		if json.Unmarshal(a.GetState(), &c.Caller.State) != nil {
			return connection.Call{}, fault.Invalid("answer.state", "this is not what the question came with")
		}
		if len(a.GetResponsesJson()) > 0 && json.Unmarshal(a.GetResponsesJson(), &c.Caller.Responses) != nil {
			return connection.Call{}, fault.Invalid("answer.responses_json", "want a JSON object")
		}
		if c.Caller.Answer.Action == "accept" {
			c.Caller.Answer.Content = canon.StructJSON(a.GetContent())
		}
	}
	return c, nil
}

func discoverToProto(c *connection.Connection, tools []connection.Tool) *mcpbridgev1.DiscoverResponse {
	info := c.Info()
	res := &mcpbridgev1.DiscoverResponse{
		Tools:      make([]*mcpbridgev1.Tool, len(tools)),
		ServerName: info.Name, ServerVersion: info.Version, Instructions: info.Instructions,
		ProtocolVersion: c.Version(), ListChanged: info.ListChanged,
	}
	for i, t := range tools {
		res.Tools[i] = &mcpbridgev1.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description,
			RawJson: t.Raw, InputSchemaJson: t.Input, OutputSchemaJson: t.Output,
			ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent, DestructiveHint: t.Destructive,
		}
	}
	return res
}

func noticeToProto(sp *server.Spec, n notice.Notice) *mcpbridgev1.CallToolResponse {
	if m := n.Log; m != nil {
		data, err := sp.CleanJSON(m.Data)
		if err != nil {
			data = []byte("null")
		}
		return &mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Log{
			Log: &mcpbridgev1.LogMessage{Level: m.Level, Logger: sp.Withhold(m.Logger), DataJson: data},
		}}
	}
	p := n.Progress
	return &mcpbridgev1.CallToolResponse{Event: &mcpbridgev1.CallToolResponse_Progress{
		Progress: &mcpbridgev1.Progress{Progress: p.Done, Total: p.Total, Message: sp.Withhold(p.Message)},
	}}
}

func inputToProto(in *question.Input) *mcpbridgev1.InputRequired {
	return &mcpbridgev1.InputRequired{Message: in.Message, SchemaJson: in.Schema, RequestsJson: in.Requests, State: in.State}
}

func eventToProto(e watch.Event) *mcpbridgev1.WatchResponse {
	return &mcpbridgev1.WatchResponse{ServerId: e.Server, Change: e.Change, Detail: e.Detail}
}

func topicsFromProto(req *mcpbridgev1.WatchResourcesRequest) []watch.Topic {
	var topics []watch.Topic
	for _, uri := range req.GetUris() {
		topics = append(topics, watch.Topic{URI: uri})
	}
	if req.GetResourceList() {
		topics = append(topics, watch.Topic{List: watch.Resources})
	}
	if req.GetPromptList() {
		topics = append(topics, watch.Topic{List: watch.Prompts})
	}
	return topics
}
