package sessions

import (
	"context"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxResultText bounds the text of a result that a model reads, in bytes.
const maxResultText = 64 << 10

// What can be done with a question; "" is actionAccept.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// AnswerApproval implements ApprovalService.
func (s *Service) AnswerApproval(ctx context.Context, req *sessionsv1.AnswerApprovalRequest) (*sessionsv1.Approval, error) {
	seen, err := s.seenWait(ctx, req.GetApprovalId())
	if err != nil {
		return nil, err
	}
	if err := s.checkAnswer(ctx, seen, req); err != nil {
		return nil, err
	}
	return s.onWait(ctx, seen, func(tx *journal.Tx, t *store.Turn, w *wait) error {
		if !w.open() {
			return w.answeredBefore(ctx, req)
		}
		who := authn.From(ctx).GetSubject()
		w.fill(req)
		verdict := turnv1.Verdict_VERDICT_ANSWERED
		if w.answer.GetAction() != actionAccept {
			verdict = turnv1.Verdict_VERDICT_DECLINED
		}
		w.decided(tx, who, verdict == turnv1.Verdict_VERDICT_ANSWERED, "")
		if err := takeInput(tx, *t); err != nil {
			return err
		}
		if err := s.endWait(tx, t, w, verdict, who); err != nil {
			return err
		}
		return s.notifyWorkflow(tx, *t)
	})
}

// checkAnswer refuses an answer that is not what was asked for.
func (s *Service) checkAnswer(ctx context.Context, w *wait, req *sessionsv1.AnswerApprovalRequest) error {
	tool := w.kind() == turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL
	accept := req.GetAction() == "" || req.GetAction() == actionAccept
	result := req.GetResult() != "" || req.GetStructuredContent() != nil || req.GetIsError()
	switch {
	case w.kind() == turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return w.other("it asks for an approval").Hint("Decide it: POST /v1/approvals/%s:decide.", w.ID)
	case w.kind() == turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return w.other("it asks what became of a call").Hint("Say so: POST /v1/turns/%s:resolve.", w.TurnID)
	case !tool && w.kind() != turnv1.WaitKind_WAIT_KIND_INPUT:
		return w.other("it ends by itself").Hint("Cancel turn %s to stop waiting.", w.TurnID)
	case !w.ofCaller(ctx):
		return denied("only those who may use session %s can answer", w.SessionID).Hint("Ask the owner of the session.")
	case !accept && (result || req.GetContent() != nil):
		return fault.Invalid("action", "%q takes no answer: leave content and result out, or use \"accept\"", req.GetAction())
	case tool && req.GetContent() != nil:
		return fault.Invalid("content", "belongs to kind \"input\"; the result of a client's tool goes into result or structured_content")
	case !tool && result:
		return fault.Invalid("result", "result, structured_content and is_error belong to kind \"client_tool\"; an answer goes into content")
	case !utf8.ValidString(req.GetResult()):
		return fault.Invalid("result", "is not valid UTF-8")
	case proto.Size(req) > s.cfg.MaxInputBytes:
		return tooLarge("content", proto.Size(req), s.cfg.MaxInputBytes)
	case tool || !accept:
		return nil
	}
	return w.fits(ctx, req.GetContent())
}

// fits checks an answer against the schema that the question came with. A schema that cannot be used accepts every object: the tool checks too.
func (w *wait) fits(ctx context.Context, content *structpb.Struct) error {
	check, err := schema.Compile([]byte(w.request.GetSchemaJson()))
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	faults, err := check.Validate(ctx, content.AsMap())
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
	return fault.InvalidFields(wrong).Hint("Correct the named fields and answer again; the question stays open. Its schema is in GET /v1/approvals/%s.", w.ID)
}

// fill takes the answer over.
func (w *wait) fill(req *sessionsv1.AnswerApprovalRequest) {
	w.answer.Action = req.GetAction()
	if w.answer.GetAction() == "" {
		w.answer.Action = actionAccept
	}
	switch {
	case w.answer.GetAction() != actionAccept:
	case w.kind() == turnv1.WaitKind_WAIT_KIND_INPUT:
		w.answer.Content = req.GetContent()
		if w.answer.GetContent() == nil {
			w.answer.Content = &structpb.Struct{}
		}
	default:
		w.answer.Result = textResult(w, req.GetResult())
		w.answer.Result.StructuredContent, w.answer.Result.IsError = req.GetStructuredContent(), req.GetIsError()
		if req.GetResult() == "" && req.GetStructuredContent() != nil {
			text, err := req.GetStructuredContent().MarshalJSON()
			if err == nil {
				w.answer.Result.Content = textResult(w, string(text)).GetContent()
			}
		}
	}
}

// answeredBefore lets the same answer of the same person pass.
func (w *wait) answeredBefore(ctx context.Context, req *sessionsv1.AnswerApprovalRequest) error {
	again := &wait{Wait: w.Wait, request: w.request, answer: &executionv1.Wait{Decisions: w.answer.GetDecisions()}}
	again.fill(req)
	d := w.answer.GetDecisions()
	if len(d) == 1 && d[0].GetSubject() == authn.From(ctx).GetSubject() && proto.Equal(again.answer, w.answer) {
		return nil
	}
	return w.over()
}

// textResult is a text as the result of the waiting call.
func textResult(w *wait, text string) *turnv1.ToolResult {
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
