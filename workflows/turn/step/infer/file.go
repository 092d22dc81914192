package infer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/mediatext"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// maxFileBytes is how many bytes of files one model call has; those of the newest messages come first.
const maxFileBytes = 8 << 20

// withFiles returns messages with the content of their files, as far as a call takes it. What it does not take stays a reference, of which
// the model reads name, type and size.
func (i *infer) withFiles(ctx context.Context, messages []*turnv1.Message) ([]*turnv1.Message, error) {
	room := int64(maxFileBytes)
	out := messages
	for n := len(messages) - 1; n >= 0; n-- {
		if !slices.ContainsFunc(messages[n].GetContent(), func(p *turnv1.ContentPart) bool { return p.GetFile() != nil }) {
			continue
		}
		m := proto.CloneOf(messages[n])
		for _, p := range m.GetContent() {
			f := p.GetFile()
			if f == nil || f.GetSize() > room || !shown(f.GetMediaType()) {
				continue
			}
			data, err := i.readFile(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("read file %s: %w", f.GetFileId(), err)
			}
			if data == nil {
				continue
			}
			room -= f.GetSize()
			p.Part = &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: f.GetMediaType(), Data: data}}
		}
		if &out[0] == &messages[0] { // shared with the memory of the runner
			out = slices.Clone(messages)
		}
		out[n] = m
	}
	return out, nil
}

// shown reports whether models read files of a type: images, and what is text.
func shown(media string) bool {
	return strings.HasPrefix(media, "image/") || mediatext.Is(media)
}

// readFile returns the content of a file of the session, nil if the session does not have it.
func (i *infer) readFile(ctx context.Context, f *turnv1.FileRef) ([]byte, error) {
	resp, err := i.Sessions.ReadTurnFile(ctx, &executionv1.ReadTurnFileRequest{
		TurnId: i.Turn.TurnID, FileId: f.GetFileId(), Length: max(f.GetSize(), 1),
	})
	if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		return nil, nil
	}
	return resp.GetData(), err
}
