package tokens

import (
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/mediatext"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// perCall is the overhead of a tool call.
const perCall = 16

// Message estimates the tokens of a message, including its tool calls or its result.
func Message(m *turnv1.Message) int {
	sum := PerMessage
	for _, parts := range [][]*turnv1.ContentPart{m.GetContent(), m.GetToolResult().GetContent()} {
		for _, p := range parts {
			sum += part(p)
		}
	}
	sum += structured(m.GetToolResult())
	for _, call := range m.GetToolCalls() {
		sum += Text(call.GetTool()) + Text(call.GetArgumentsJson()) + perCall
	}
	return sum
}

// bytesPerToken is a low estimate for JSON.
const bytesPerToken = 3

// structured estimates the tokens of structured content, as far as it is longer than the texts, which often say the same.
func structured(r *turnv1.ToolResult) int {
	if r.GetStructuredContent() == nil {
		return 0
	}
	size := proto.MarshalOptions{UseCachedSize: true}.Size(r.GetStructuredContent()) // results do not change
	for _, p := range r.GetContent() {
		size -= len(p.GetText())
	}
	return max(0, size) / bytesPerToken
}

// Messages estimates the tokens of a conversation.
func Messages(messages []*turnv1.Message) int {
	sum := 0
	for _, m := range messages {
		sum += Message(m)
	}
	return sum
}

func part(p *turnv1.ContentPart) int {
	b, f := p.GetBlob(), p.GetFile()
	text, isText := mediatext.Of(b.GetMediaType(), b.GetData())
	switch {
	case f != nil:
		return file(f)
	case b == nil:
		return Text(p.GetText()) + Text(p.GetLink().GetName()) + Text(p.GetLink().GetUri()) + 1
	case isText:
		return Text(text)
	default:
		return binary(b.GetMediaType(), int64(len(b.GetData())))
	}
}

// perPDFToken is how many bytes of a document stand for a token: documents of text have fewer, those with pictures more.
const perPDFToken = 50

// binary estimates the tokens of an image, a sound or a document.
func binary(mediaType string, size int64) int {
	if mediaType == "application/pdf" {
		return max(PerImage, int(min(size/perPDFToken, math.MaxInt32)))
	}
	return PerImage
}

// file estimates the tokens of a file as a model reads it, before its content is read.
func file(f *turnv1.FileRef) int {
	if mediatext.Is(f.GetMediaType()) {
		return int(min(f.GetSize(), math.MaxInt32)) / bytesPerToken
	}
	return binary(f.GetMediaType(), f.GetSize())
}
