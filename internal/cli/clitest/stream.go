package clitest

import (
	"net/http"
	"strings"
)

// Frame formats one frame as the gateway does.
func Frame(cursor, typ, data string) string {
	seq, delta, _ := strings.Cut(cursor, ".")
	if delta != "" {
		delta = `"delta":` + delta + ","
	}
	return "id: " + cursor + "\nevent: " + typ + "\ndata: {\"seq\":" + seq + "," + delta + `"type":"` + typ + `","data":` + data + "}\n\n"
}

// Parts of the stream of turn trn_1: what it begins with, more of it, and its ends.
var (
	Began = Frame("1", "turn.queued", `{"input":[{"text":"hello"}]}`) +
		Frame("2", "turn.started", `{"agent_id":"support","model":"openai/gpt","tools":["notes__list"]}`) +
		Frame("3", "message.started", `{"message_id":"msg_1","model":"openai/gpt"}`) +
		Frame("4", "message.completed",
			`{"message":{"id":"msg_1","role":"assistant","tool_calls":[{"call_id":"c1","tool":"notes__list","arguments_json":"{}"}]}}`) +
		Frame("5", "tool_call.started", `{"call_id":"c1","tool":"notes__list","arguments":{"a":1,"b":"x"}}`) +
		Frame("6", "tool_call.started", `{"call_id":"c2","tool":"notes__fail","arguments":{}}`)
	Ran = Frame("7", "tool_call.completed",
		`{"result":{"call_id":"c1","tool":"notes__list","content":[{"text":"one\ntwo\u001b[2J"}]},"latency_ms":12}`) +
		Frame("8", "tool_call.completed",
			`{"result":{"call_id":"c2","tool":"notes__fail","content":[{"text":"no"}],"is_error":true},"code":"tool_unavailable","latency_ms":1}`) +
		Frame("9", "message.started", `{"message_id":"msg_2"}`) + Frame("9.1", "message.delta", `{"message_id":"msg_2","text":"You have "}`)
	Again = Frame("10", "turn.recovered", `{}`) + Frame("11", "message.reset", `{"message_id":"msg_2","reason":"worker lost"}`) +
		Frame("11.1", "message.delta", `{"message_id":"msg_2","text":"There are "}`)
	Answered  = Frame("12", "message.completed", `{"message":{"id":"msg_2","role":"assistant","content":[{"text":"There are two."}]}}`)
	Completed = Frame("13", "turn.completed", `{"status":"completed","stop_reason":"end","output":"There are two."}`) + end
	Broke     = Frame("13", "turn.failed",
		`{"status":"failed","stop_reason":"error","error":{"code":"model_rejected","message":"The key is wrong."}}`) + end
	Stopped = Frame("13", "turn.completed", `{"status":"completed","stop_reason":"max_steps","output":"There are two.",`+
		`"limit_reached":{"code":"limit_reached","limit":"max_steps","value":"25","message":"It may take 25 steps.","hint":"Go on."}}`) + end
	Cancelled = Frame("13", "turn.cancelled", `{"status":"cancelled","stop_reason":"cancelled"}`) + end
)

const end = "event: end\ndata: {\"turn_id\":\"trn_1\"}\n\n"

// Stream has the server answer with event streams of turn trn_1, one per connection.
func (s *Server) Stream(streams ...string) *Server {
	n := 0
	s.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/turns/trn_1/events" {
			return false
		}
		if n >= len(streams) {
			s.t.Errorf("connection %d was not expected", n+1)
			w.WriteHeader(http.StatusNoContent)
			return true
		}
		n++
		_, _ = w.Write([]byte(streams[n-1]))
		return true
	}
	return s
}
