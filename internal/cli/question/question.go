// Package question knows what turns ask people for, and which requests answer.
package question

import (
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Path is the collection of what turns wait for.
const Path = "/v1/approvals"

// Question is one thing that a turn asks a person for.
type Question struct {
	// ID is the approval's.
	ID   string
	Kind turnv1.WaitKind

	turn, call string
	// hash is that of the arguments that are decided about.
	hash   string
	schema *structpb.Struct
}

// By reads what an event asks for, if it asks.
func By(ev *turnv1.Event) (Question, bool) {
	q := Question{turn: ev.GetTurnId()}
	switch d := ev.GetData().(type) {
	case *turnv1.Event_ApprovalRequested:
		a := d.ApprovalRequested
		q.ID, q.call, q.Kind, q.hash = a.GetApprovalId(), a.GetCallId(), turnv1.WaitKind_WAIT_KIND_APPROVAL, a.GetArgumentsHash()
	case *turnv1.Event_InputRequested:
		i := d.InputRequested
		q.ID, q.call, q.Kind, q.schema = i.GetApprovalId(), i.GetCallId(), i.GetKind(), i.GetSchema()
	case *turnv1.Event_ToolCallUnresolved:
		q.ID, q.call, q.Kind = d.ToolCallUnresolved.GetApprovalId(), d.ToolCallUnresolved.GetCallId(), turnv1.WaitKind_WAIT_KIND_RESOLUTION
	case *turnv1.Event_AuthRequired:
		q.ID, q.call, q.Kind = d.AuthRequired.GetApprovalId(), d.AuthRequired.GetCallId(), turnv1.WaitKind_WAIT_KIND_AUTHORIZATION
	}
	return q, q.ID != ""
}

// In reads what an approval asks for.
func In(a *sessionsv1.Approval) Question {
	return Question{
		ID: a.GetId(), turn: a.GetTurnId(), call: a.GetCallId(), Kind: a.GetKind(), hash: a.GetArgumentsHash(), schema: a.GetSchema(),
	}
}

// Prompt says which answers are possible.
func (q Question) Prompt() string {
	switch q.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return "approve? y or n, and why"
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return "the result of the tool, as text"
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return "did the call happen? done and its result, not_done or give_up"
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return "retry once you have logged in or connected the source, or decline"
	default:
		return "your answer (text, or a JSON object; empty = decline)"
	}
}

// Answer returns the request that sends an answer, false if the text is none.
func (q Question) Answer(line string) (client.Request, bool) {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch q.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		body := map[string]any{"arguments_hash": q.hash}
		switch strings.ToLower(word) {
		case "y", "yes", "approve":
			body["decision"] = "approve"
		case "n", "no", "deny":
			body["decision"] = "deny"
		default:
			return client.Request{}, false
		}
		if rest != "" {
			body["comment"] = rest
		}
		return q.post("decide", body), true
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return q.post("answer", map[string]any{"result": line}), true
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		if word != "done" && (word != "not_done" && word != "give_up" || rest != "") {
			return client.Request{}, false
		}
		body := map[string]any{"call_id": q.call, "outcome": word}
		if rest != "" {
			body["result"] = rest
		}
		return client.Request{Method: http.MethodPost, Path: "/v1/turns" + client.Path(q.turn) + ":resolve", Body: body}, true
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		action, ok := map[string]string{"retry": "accept", "decline": "decline"}[strings.ToLower(line)]
		return q.post("answer", map[string]any{"action": action}), ok
	default:
		return q.post("answer", answerOf(q.schema, line)), true
	}
}

func (q Question) post(verb string, body map[string]any) client.Request {
	return client.Request{Method: http.MethodPost, Path: Path + client.Path(q.ID) + ":" + verb, Body: body}
}

// answerOf converts a line to an answer: a JSON object as it is; other text as the question's only field, or "answer".
func answerOf(schema *structpb.Struct, line string) map[string]any {
	if line == "" {
		return map[string]any{"action": "decline"}
	}
	var object map[string]json.RawMessage // numbers stay as they are written
	if json.Unmarshal([]byte(line), &object) == nil && object != nil {
		return map[string]any{"content": object}
	}
	field := "answer"
	fields := schema.GetFields()["properties"].GetStructValue().GetFields()
	if len(fields) == 1 {
		for name := range fields {
			field = name
		}
	}
	var value any = line
	switch fields[field].GetStructValue().GetFields()["type"].GetStringValue() {
	case "boolean", "number", "integer":
		if json.Valid([]byte(line)) {
			value = json.RawMessage(line)
		}
	}
	return map[string]any{"content": map[string]any{field: value}}
}

// Ended returns the approval that an event ends, "" for other events.
func Ended(ev *turnv1.Event) string {
	return ev.GetApprovalResolved().GetApprovalId() + ev.GetInputProvided().GetApprovalId() + ev.GetToolCallResolved().GetApprovalId() +
		ev.GetAuthResolved().GetApprovalId()
}

// Send makes a request that answers, and prints the state of its approval on one line.
func Send(c *command.Call, r client.Request) error {
	var a sessionsv1.Approval
	raw, err := c.Do(r, &a)
	if err != nil {
		return err
	}
	return c.Printf(a.GetId(), raw, "%s %s", output.Line(a.GetId()), enum.Name(a.GetStatus()))
}
