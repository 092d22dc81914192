package builtin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// remember is the name of the tool that has facts about the user remembered.
const remember = "remember"

const rememberSchema = `{"type":"object","properties":{` +
	`"entity":{"type":"string","maxLength":100,"description":"What the fact is about: user (the user, when left out), or another person ` +
	`or thing, such as brother"},` +
	`"attribute":{"type":"string","minLength":1,"maxLength":100,"description":"Which attribute of it, such as home town"},` +
	`"value":{"type":"string","minLength":1,"maxLength":1000,"description":"Value of the attribute, as the user said it"},` +
	`"text":{"type":"string","maxLength":2000,"description":"The fact as a sentence"},` +
	`"since":{"type":"string","format":"date","description":"Day from which it is true, YYYY-MM-DD; today when left out"},` +
	`"until":{"type":"string","format":"date","description":"Day on which it ends to be true; without end when left out"},` +
	`"only_this_agent":{"type":"boolean","description":"Keep it from other agents of the user"}` +
	`},"required":["attribute","value"],"additionalProperties":false}`

// Facts remembers facts about users.
type Facts interface {
	// Remember stores a fact that a model states.
	Remember(ctx context.Context, req *knowledgev1.RememberRequest, opts ...grpc.CallOption) (*knowledgev1.RememberResponse, error)
}

// remember stores a fact about the user of a turn. Its answer does not repeat the fact, so that it is in no further record.
func (ts Tools) remember(ctx context.Context, args map[string]any, by source.Caller) (string, error) {
	if by.TurnID == "" {
		return "", errors.New("facts are remembered in turns of agents only; use POST /v1/memory to add one")
	}
	text := func(name string) string {
		s, _ := args[name].(string) // the schema has checked the types
		return s
	}
	fact := &knowledgev1.Fact{
		Entity: text("entity"), Attribute: text("attribute"), Value: text("value"), Text: text("text"),
	}
	if only, _ := args["only_this_agent"].(bool); only {
		fact.AgentId = by.AgentID
	}
	var err error
	if fact.ValidFrom, err = day(text("since")); err != nil {
		return "", err
	}
	if fact.ValidTo, err = day(text("until")); err != nil {
		return "", err
	}
	resp, err := ts.facts.Remember(ctx, &knowledgev1.RememberRequest{
		Principal: by.Principal, Fact: fact,
		Source: &knowledgev1.FactSource{SessionId: by.SessionID, TurnId: by.TurnID, CallId: by.CallID, Tainted: by.Tainted},
	})
	switch {
	case err == nil:
		return outcome(resp), nil
	case fault.From(err).Code == codes.InvalidArgument:
		return "", errors.New(fault.From(err).Text())
	default:
		return "", awayError{err}
	}
}

// outcome tells the model what became of a fact.
func outcome(resp *knowledgev1.RememberResponse) string {
	switch resp.GetOutcome() {
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_REMEMBERED:
		return "Remembered as " + resp.GetFact().GetId() + "."
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_KNOWN:
		return "This was known already."
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_PAST:
		return "Remembered as an earlier value; a newer one is known."
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_PROPOSED:
		return "Proposed as " + resp.GetFact().GetId() + ": it is not used before the user accepts it in their memory."
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_FORGOTTEN:
		return "Not remembered: the user has had this forgotten or has rejected it. Only they can add it again, in their memory."
	case knowledgev1.RememberOutcome_REMEMBER_OUTCOME_FULL:
		return "Not remembered: the user's memory is full."
	default:
		return "Not remembered: the user has switched memory off."
	}
}

// day reads a date, nil for an empty one.
func day(text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse("2006-01-02", text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a date: write YYYY-MM-DD", text)
	}
	return timestamppb.New(at), nil
}
