// Package question knows what turns ask people for, and which requests answer.
package question

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

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
func (q Question) Answer(line string) (proto.Message, bool) {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch q.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		decision, ok := map[string]string{
			"y": "approve", "yes": "approve", "approve": "approve", "n": "deny", "no": "deny", "deny": "deny",
		}[strings.ToLower(word)]
		return &sessionsv1.DecideApprovalRequest{ApprovalId: q.ID, Decision: decision, Comment: rest, ArgumentsHash: q.hash}, ok
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &sessionsv1.AnswerApprovalRequest{ApprovalId: q.ID, Result: line}, true
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		ok := word == "done" || (word == "not_done" || word == "give_up") && rest == ""
		return &sessionsv1.ResolveToolCallRequest{TurnId: q.turn, CallId: q.call, Outcome: word, Result: rest}, ok
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		action, ok := map[string]string{"retry": "accept", "decline": "decline"}[strings.ToLower(line)]
		return &sessionsv1.AnswerApprovalRequest{ApprovalId: q.ID, Action: action}, ok
	}
	if line == "" {
		return &sessionsv1.AnswerApprovalRequest{ApprovalId: q.ID, Action: "decline"}, true
	}
	return &sessionsv1.AnswerApprovalRequest{ApprovalId: q.ID, Content: answerOf(q.schema, line)}, true
}

// answerOf converts a line to an answer: a JSON object as it is; other text as the question's only field, or "answer".
func answerOf(schema *structpb.Struct, line string) *structpb.Struct {
	if object, err := canon.ParseStruct([]byte(line)); err == nil {
		return object
	}
	field := "answer"
	fields := schema.GetFields()["properties"].GetStructValue().GetFields()
	if len(fields) == 1 {
		for name := range fields {
			field = name
		}
	}
	value := structpb.NewStringValue(line)
	switch fields[field].GetStructValue().GetFields()["type"].GetStringValue() {
	case "boolean", "number", "integer":
		if v, err := canon.ParseValue([]byte(line)); err == nil {
			value = v
		}
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{field: value}}
}

// Ended returns the approval that an event ends, "" for other events.
func Ended(ev *turnv1.Event) string {
	return ev.GetApprovalResolved().GetApprovalId() + ev.GetInputProvided().GetApprovalId() + ev.GetToolCallResolved().GetApprovalId() +
		ev.GetAuthResolved().GetApprovalId()
}

// Send makes a request that answers, and prints the state of its approval on one line.
func Send(c *command.Call, req proto.Message) error {
	var a sessionsv1.Approval
	raw, err := c.Do(req, &a)
	if err != nil {
		return err
	}
	return c.Printf(a.GetId(), raw, "%s %s", output.Line(a.GetId()), enum.Name(a.GetStatus()))
}
