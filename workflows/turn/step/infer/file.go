package infer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/media"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxFileBytes is how many bytes of files one model call has; those of the newest messages come first.
const maxFileBytes = 8 << 20

// smallImage is the form of an image that takes more than the room of a call. Models take no larger ones.
var smallImage = media.Form{Types: []string{"image/jpeg", "image/png"}, MaxEdge: 3072, MaxBytes: 3 << 20}

// withFiles returns messages with the content of their files, as far as a call takes it. What it does not take stays a reference, of which
// the model reads name, type and size.
func (i *infer) withFiles(ctx context.Context, messages []*turnv1.Message) ([]*turnv1.Message, error) {
	room := int64(maxFileBytes)
	out := messages
	for n := len(messages) - 1; n >= 0; n-- {
		m := messages[n]
		if !slices.ContainsFunc(m.GetContent(), isFile) && !slices.ContainsFunc(m.GetToolResult().GetContent(), isFile) {
			continue
		}
		m = proto.CloneOf(m)
		for _, p := range slices.Concat(m.GetContent(), m.GetToolResult().GetContent()) {
			f := p.GetFile()
			if f == nil || !contract.Shown(f.GetMediaType()) {
				continue
			}
			blob, err := i.readFile(ctx, f, room)
			if err != nil {
				return nil, fmt.Errorf("read file %s: %w", f.GetFileId(), err)
			}
			if blob != nil {
				room -= int64(len(blob.GetData()))
				p.Part = &turnv1.ContentPart_Blob{Blob: blob}
			}
		}
		if &out[0] == &messages[0] { // shared with the memory of the runner
			out = slices.Clone(messages)
		}
		out[n] = m
	}
	return out, nil
}

func isFile(p *turnv1.ContentPart) bool { return p.GetFile() != nil }

// readFile returns the content of a file of the session; nil if the session does not have it, or it takes more than room. An image that
// takes more is scaled.
func (i *infer) readFile(ctx context.Context, f *turnv1.FileRef, room int64) (*turnv1.Blob, error) {
	isImage := strings.HasPrefix(f.GetMediaType(), "image/")
	if f.GetSize() > room && !(isImage && room >= int64(smallImage.MaxBytes)) {
		return nil, nil
	}
	if f.GetSize() > room {
		if small, ok := i.Media.Known(f.GetSha256(), smallImage); ok { // it was scaled for an earlier call: do not read it again
			return &turnv1.Blob{MediaType: small.MediaType, Data: small.Data, Name: f.GetName()}, nil
		}
	}
	var data []byte
	for len(data) == 0 || int64(len(data)) < f.GetSize() {
		resp, err := i.Sessions.ReadTurnFile(ctx, &executionv1.ReadTurnFileRequest{
			TurnId: i.Turn.TurnID, FileId: f.GetFileId(), Offset: int64(len(data)), Length: max(f.GetSize()-int64(len(data)), 1),
		})
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		data = append(data, resp.GetData()...)
		if len(resp.GetData()) == 0 {
			break
		}
	}
	out := &turnv1.Blob{MediaType: f.GetMediaType(), Data: data, Name: f.GetName()}
	if int64(len(data)) <= room {
		return out, nil
	}
	small, err := i.Media.Image(ctx, data, smallImage)
	if _, refused := errors.AsType[*media.Error](err); refused {
		return nil, nil
	}
	out.MediaType, out.Data = small.MediaType, small.Data
	return out, err
}
