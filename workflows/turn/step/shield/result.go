package shield

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/canon"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

// Result checks the result of a call before any of it is committed, and changes it: redacted, with what is kept whole beside it, or
// withheld as a whole. Only the ledger keeps what the tool said, and a wait its answer. A result that came as the turn was cut off and
// cannot be checked is withheld.
func (c *Checker) Result(ctx context.Context, w *step.Work, call *turnv1.ToolCall, done *registryv1.Completed) ([]*turnv1.Event, error) {
	if len(w.Loaded.GetAgent().GetShields()) == 0 {
		return nil, nil
	}
	late := ctx.Err() != nil
	if late {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lateCheck)
		defer cancel()
	}
	checked, err := c.checkResult(ctx, w, done)
	why := Failed(err)
	switch {
	case err != nil && late:
		withhold(call, done, "it could not be checked in time")
		return nil, nil
	case why != "":
		withhold(call, done, strings.TrimRight(why, "."))
		return nil, nil
	case err != nil || checked == nil:
		return nil, err
	}
	events := Triggered(StageResult, call.GetCallId(), checked)
	if who := Blocker(checked); who != "" {
		withhold(call, done, "shield "+who+" blocks it")
		return events, nil
	}
	if !slices.ContainsFunc(checked, (*policyv1.CheckedText).GetRedacted) {
		return events, nil
	}
	return events, eachOfResult(done, inOrder(checked))
}

// checkResult asks the shields about all texts of a result, in the order of eachOfResult; nil when none applies there.
func (c *Checker) checkResult(ctx context.Context, w *step.Work, done *registryv1.Completed) ([]*policyv1.CheckedText, error) {
	applies, err := c.AppliesTo(ctx, w.Loaded.GetAgent(), StageResult)
	if err != nil || !applies {
		return nil, err
	}
	var texts []string
	if err := eachOfResult(done, func(text string) string { texts = append(texts, text); return text }); err != nil {
		return nil, err
	}
	return c.Check(ctx, w.Loaded, StageResult, texts...)
}

// withhold replaces a result, and all artifacts of it, by a text for the model.
func withhold(call *turnv1.ToolCall, done *registryv1.Completed, why string) {
	done.Code, done.Wholes = Code, nil
	done.Result = conversation.ErrorResult(call, "The result of the call is withheld: "+why+". Calling it again does not change that.")
}

// eachOfResult replaces all texts of a result by what change makes of them, always in the same order: what is kept whole, from which the
// parts that show its ends are made again, the other parts, their media types, and each text, name and number of the structured content.
// Bytes that are no text stay.
func eachOfResult(done *registryv1.Completed, change func(string) string) error {
	result := done.GetResult()
	shown := map[int]bool{}
	for _, whole := range done.GetWholes() {
		part := int(whole.GetPreviewPart())
		shows := whole.GetPreviewLimit() > 0 && part < len(result.GetContent())
		if shows {
			shown[part] = true
		}
		whole.MediaType = mediaType(whole.GetMediaType(), change)
		if !utf8.Valid(whole.GetData()) {
			continue
		}
		text := string(whole.GetData())
		now := change(text)
		if now == text {
			continue
		}
		whole.Data = []byte(now)
		if shows {
			result.Content[part] = &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{
				Text: contract.Preview(now, int(whole.GetPreviewLimit()), whole.GetArtifactId()),
			}}
		}
	}
	for i, p := range result.GetContent() {
		if !shown[i] {
			eachOfPart(p, change)
		}
	}
	return eachOfStructured(result, change)
}

// mediaType changes a media type, which a tool may write as it likes. One that is changed becomes that of any bytes.
func mediaType(text string, change func(string) string) string {
	if text == "" || change(text) == text {
		return text
	}
	return "application/octet-stream"
}

func eachOfPart(p *turnv1.ContentPart, change func(string) string) {
	switch part := p.GetPart().(type) {
	case *turnv1.ContentPart_Text:
		part.Text = change(part.Text)
	case *turnv1.ContentPart_Link:
		part.Link.Uri, part.Link.Name = change(part.Link.GetUri()), change(part.Link.GetName())
		part.Link.MediaType = mediaType(part.Link.GetMediaType(), change)
	case *turnv1.ContentPart_File:
		part.File.MediaType = mediaType(part.File.GetMediaType(), change)
	case *turnv1.ContentPart_Blob:
		part.Blob.MediaType = mediaType(part.Blob.GetMediaType(), change)
		if utf8.Valid(part.Blob.GetData()) {
			part.Blob.Data = []byte(change(string(part.Blob.GetData())))
		}
	}
}

func eachOfStructured(result *turnv1.ToolResult, change func(string) string) error {
	if result.GetStructuredContent() == nil {
		return nil
	}
	value, ok := parseArguments(string(canon.ValueJSON(result.GetStructuredContent())))
	if !ok {
		return fmt.Errorf("structured content is no JSON")
	}
	changed := false
	value = each(value, func(text string) string {
		now := change(text)
		changed = changed || now != text
		return now
	})
	if !changed {
		return nil
	}
	result.StructuredContent = canon.Value(value)
	return nil
}
