package file

import (
	"context"
	"fmt"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Resolve returns content in which each file is described, whatever the caller wrote beside its ID, and each link to be fetched is a file
// of the caller. The caller must see the files.
func (s *Service) Resolve(ctx context.Context, parts []*turnv1.ContentPart) ([]*turnv1.ContentPart, error) {
	var out []*turnv1.ContentPart // a copy, once a part is a file
	for i, p := range parts {
		f, isFile, err := s.find(ctx, fmt.Sprintf("content[%d]", i), p)
		switch {
		case err != nil:
			return nil, err
		case !isFile:
			continue
		case out == nil:
			out = append(out, parts...)
		}
		out[i] = described(f)
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
