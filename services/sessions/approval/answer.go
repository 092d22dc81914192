package approval

import (
	"context"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxResultText bounds the text of a result that a model reads, in bytes.
const maxResultText = 64 << 10

// actionAccept answers a question; it is what an empty action stands for.
const actionAccept = "accept"

// Answer is an answer to a question, or the result of a call that the client ran.
type Answer struct {
	ID string
	// Action is "accept", "decline" or "cancel"; "" is accept.
	Action string
	// Content answers a question.
	Content *structpb.Struct
	// Result and Structured are the result of a call; IsError: the call failed.
	Result     string
	Structured *structpb.Value
	IsError    bool
	// Bytes is the size of the request.
	Bytes int
}

func (a Answer) accepts() bool { return a.Action == "" || a.Action == actionAccept }

// Answer ends a wait for an answer or for the result of a client. The same answer of the same person again changes nothing.
func (s *Service) Answer(ctx context.Context, a Answer) (store.Wait, error) {
	seen, err := s.Get(ctx, a.ID)
	if err != nil {
		return seen, err
	}
	if err := s.checkAnswer(ctx, seen, a); err != nil {
		return seen, err
	}
	return s.deps.Waits.Update(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *store.Wait) error {
		if !w.Open() {
			return answeredBefore(ctx, *w, a)
		}
		who := authn.From(ctx).GetSubject()
		fill(*w, w.Answer, a)
		verdict := turnv1.Verdict_VERDICT_ANSWERED
		if !a.accepts() {
			verdict = turnv1.Verdict_VERDICT_DECLINED
		}
		recordDecision(tx, w, who, a.accepts(), "")
		if err := requester.Record(tx, *t); err != nil {
			return err
		}
		return s.deps.Waits.EndAndWake(tx, t, w, verdict, who)
	}, ended)
}

// checkAnswer refuses an answer that is not what was asked for.
func (s *Service) checkAnswer(ctx context.Context, w store.Wait, a Answer) error {
	tool := w.Kind == turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL
	result := a.Result != "" || a.Structured != nil || a.IsError
	switch {
	case w.Kind == turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return otherKind(w, "it asks for an approval").Hint("Decide it: POST /v1/approvals/%s:decide.", w.ID)
	case w.Kind == turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return otherKind(w, "it asks what became of a call").Hint("Say so: POST /v1/turns/%s:resolve.", w.TurnID)
	case w.Kind == turnv1.WaitKind_WAIT_KIND_AUTHORIZATION && (result || a.Content != nil):
		return fault.Invalid("content", "does not fit kind \"authorization\": send the action only, \"accept\" (try again) or \"decline\"")
	case !tool && w.Kind != turnv1.WaitKind_WAIT_KIND_INPUT && w.Kind != turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return otherKind(w, "it ends by itself").Hint("Cancel turn %s to stop waiting.", w.TurnID)
	case !access.Sees(ctx, w.Owner):
		return denied("only those who may use session %s can answer", w.SessionID).Hint("Ask the owner of the session.")
	case !a.accepts() && (result || a.Content != nil):
		return fault.Invalid("action", "%q takes no answer: leave content and result out, or use \"accept\"", a.Action)
	case tool && a.Content != nil:
		return fault.Invalid("content", "belongs to kind \"input\"; the result of a client's tool goes into result or structured_content")
	case !tool && result:
		return fault.Invalid("result", "result, structured_content and is_error belong to kind \"client_tool\"; an answer goes into content")
	case !utf8.ValidString(a.Result):
		return fault.Invalid("result", "is not valid UTF-8")
	}
	if err := s.deps.Input.Size("content", a.Bytes); err != nil || w.Kind != turnv1.WaitKind_WAIT_KIND_INPUT || !a.accepts() {
		return err
	}
	return fits(ctx, w, a.Content)
}

// fits checks an answer against the schema that the question came with. A schema that cannot be used accepts every object: the
// tool checks too.
func fits(ctx context.Context, w store.Wait, content *structpb.Struct) error {
	check, err := schema.Compile([]byte(w.Request.GetSchemaJson()))
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	faults, err := check.Validate(ctx, map[string]any(canon.FromStruct(content)))
	if err != nil {
		return fmt.Errorf("check the answer: %w", err)
	}
	var wrong []fault.Field
	for _, f := range faults {
		wrong = append(wrong, fault.Field{Path: "content" + f.Pointer, Message: f.Message})
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields(wrong).Hint("Correct the named fields and answer again; the question stays open. Its schema is in GET "+
		"/v1/approvals/%s.", w.ID)
}

// fill puts an answer to a wait into what is stored of it.
func fill(w store.Wait, into *store.WaitAnswer, a Answer) {
	into.Action = a.Action
	if into.GetAction() == "" {
		into.Action = actionAccept
	}
	switch {
	case !a.accepts(), w.Kind == turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
	case w.Kind == turnv1.WaitKind_WAIT_KIND_INPUT:
		into.Content = a.Content
		if into.GetContent() == nil {
			into.Content = &structpb.Struct{}
		}
	default:
		into.Result = textResult(w, a.Result)
		into.Result.StructuredContent, into.Result.IsError = a.Structured, a.IsError
		if a.Result == "" && a.Structured != nil {
			text, err := a.Structured.MarshalJSON()
			if err == nil {
				into.Result.Content = textResult(w, string(text)).GetContent()
			}
		}
	}
}

// answeredBefore lets the same answer of the same person pass.
func answeredBefore(ctx context.Context, w store.Wait, a Answer) error {
	again := &store.WaitAnswer{Decisions: w.Answer.GetDecisions()}
	fill(w, again, a)
	d := w.Answer.GetDecisions()
	if len(d) == 1 && d[0].GetSubject() == authn.From(ctx).GetSubject() && proto.Equal(again, w.Answer) {
		return nil
	}
	return ended(w)
}

// textResult is a text as the result of the waiting call.
func textResult(w store.Wait, text string) *turnv1.ToolResult {
	r := &turnv1.ToolResult{CallId: w.CallID, Tool: w.Tool}
	if len(text) > maxResultText {
		end := maxResultText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text, r.Truncated = text[:end], true
	}
	r.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
	return r
}
