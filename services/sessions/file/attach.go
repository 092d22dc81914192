package file

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Resolve returns content in which each file is described, whatever the caller wrote beside its ID. The caller must see the files.
func (s *Service) Resolve(ctx context.Context, parts []*turnv1.ContentPart) ([]*turnv1.ContentPart, error) {
	var out []*turnv1.ContentPart // a copy, once a part is a file
	for i, p := range parts {
		if p.GetFile() == nil {
			continue
		}
		f, err := s.Get(ctx, p.GetFile().GetFileId())
		switch {
		case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
			return nil, fault.Invalid(fmt.Sprintf("content[%d].file.file_id", i), "%v", err)
		case err != nil:
			return nil, err
		}
		if out == nil {
			out = append(out, parts...)
		}
		out[i] = &turnv1.ContentPart{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{
			FileId: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size, Sha256: f.SHA256, Width: int32(f.Width), Height: int32(f.Height),
		}}}
	}
	if out == nil {
		return parts, nil
	}
	return out, nil
}

// Attach makes the files of a turn's input artifacts of its session, which must be locked, so that the session has their content as long as
// it exists.
func Attach(tx *journal.Tx, t store.Turn, parts []*turnv1.ContentPart) error {
	for _, p := range parts {
		f := p.GetFile()
		if f == nil {
			continue
		}
		there, err := tx.AttachFile(tx.Context(), store.Artifact{
			Tenant: t.Tenant, ID: f.GetFileId(), SessionID: t.SessionID, TurnID: t.ID, Name: f.GetName(), MediaType: f.GetMediaType(),
			Size: f.GetSize(), SHA256: f.GetSha256(), CreateTime: tx.Now(),
		})
		if err != nil {
			return err
		}
		if !there {
			return errNotFound(f.GetFileId())
		}
	}
	return nil
}
