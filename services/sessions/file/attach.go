package file

import (
	"context"
	"fmt"
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Resolve returns content in which each file is described, whatever the caller wrote beside its ID, and each link to be fetched is a file
// of the caller. The caller must see the files, and may have to wait for links: check before what is cheap to check. If the content is not
// used after all, drop deletes the files that were fetched for it; it is never nil.
func (s *Service) Resolve(ctx context.Context, parts []*turnv1.ContentPart) (out []*turnv1.ContentPart, drop func(), err error) {
	var fetched []store.File
	drop = func() { s.drop(ctx, fetched) }
	defer func() {
		if err != nil {
			drop()
		}
	}()
	if err := s.admit(ctx, links(parts)); err != nil {
		return nil, drop, err
	}
	within, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	out = parts
	for i, p := range parts {
		f, isFile, err := s.find(within, fmt.Sprintf("content[%d]", i), p)
		if err != nil {
			return nil, drop, err
		}
		if !isFile {
			continue
		}
		if p.GetLink() != nil {
			fetched = append(fetched, f)
		}
		if &out[0] == &parts[0] {
			out = slices.Clone(parts)
		}
		out[i] = described(f)
	}
	return out, drop, nil
}

// links counts the links that are to be fetched.
func links(parts []*turnv1.ContentPart) (n int) {
	for _, p := range parts {
		if p.GetLink().GetFetch() {
			n++
		}
	}
	return n
}

// drop deletes files of content that is not used. What cannot be deleted now is listed among the files of its user, who can.
func (s *Service) drop(ctx context.Context, files []store.File) {
	ctx = context.WithoutCancel(ctx)
	for _, f := range files {
		_ = s.store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteFile(ctx, f.Tenant, f.ID) })
	}
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
