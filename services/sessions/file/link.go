package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxLinks is how many links of one input are fetched, and fetchTime how long that may take, all together.
	maxLinks, fetchTime = 8, 30 * time.Second
	// create is the permission to store a file.
	create = "sessions.files.create"
)

// client returns the client of files at addresses.
func (c Config) client(e *egress.Egress) *http.Client {
	if c.Links != LinksEgress {
		e = e.Public()
	}
	return e.Client(egress.Options{Timeout: fetchTime, MaxResponseBytes: int64(c.MaxBytes)})
}

// admit checks that the caller may have links fetched, which makes files of theirs.
func (s *Service) admit(ctx context.Context, links int) error {
	switch {
	case links == 0:
		return nil
	case links > maxLinks:
		return fault.Invalid("content", "has %d links to be fetched, more than %d", links, maxLinks)
	}
	held, err := access.Permissions(ctx, s.policy, authn.From(ctx))
	if err != nil {
		return err
	}
	if verdict := held.Decide(create); !verdict.Allowed {
		return fault.Denied(create, verdict.DeniedBy)
	}
	return nil
}

// fetch stores what is at a link as a file of the caller. field is the part of the input, for errors.
func (s *Service) fetch(ctx context.Context, field string, l *turnv1.ResourceLink) (store.File, error) {
	invalid := func(format string, args ...any) (store.File, error) {
		return store.File{}, fault.Invalid(field+".link.uri", format, args...)
	}
	address, err := url.Parse(l.GetUri())
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return invalid("is no http or https address, so it cannot be fetched")
	}
	if address.User != nil {
		return invalid("has a user and password; upload the file instead")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return invalid("cannot be fetched: %v", err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return store.File{}, notFetched(field, address.Host, err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	if resp.StatusCode != http.StatusOK {
		return invalid("cannot be fetched: %s answered with status %d", address.Host, resp.StatusCode)
	}
	name := l.GetName()
	if name == "" {
		name = baseName(address.Path)
	}
	buf := make([]byte, 64<<10)
	var failed error // of the connection
	f, err := s.Upload(ctx, Spec{Name: name, MediaType: l.GetMediaType()}, func() ([]byte, error) {
		n, err := resp.Body.Read(buf)
		for n == 0 && err == nil {
			n, err = resp.Body.Read(buf)
		}
		if n == 0 && !errors.Is(err, io.EOF) {
			failed = err
			return nil, err
		}
		return buf[:n], nil
	})
	if failed != nil {
		return store.File{}, notFetched(field, address.Host, failed)
	}
	if e := fault.As(err); e != nil && e.Code == codes.InvalidArgument {
		return invalid("names a file that cannot be used: %s", e.Message)
	}
	return f, err
}

// notFetched explains why a file was not fetched. What the address resolves to is not shown.
func notFetched(field, host string, err error) error {
	var large *egress.TooLargeError
	switch {
	case errors.Is(err, egress.ErrDenied):
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_EGRESS_DENIED, "%s.link.uri: %s may not be reached", field, host).
			Hint("Upload the file instead, or have the operator add the host to egress.allow_hosts.").Cause(err)
	case errors.Is(err, egress.ErrRedirect):
		return fault.Invalid(field+".link.uri", "is redirected by %s: give the final address", host)
	case errors.As(err, &large):
		return fault.Invalid(field+".link.uri", "names a file of more than %d bytes", large.Limit)
	}
	return fault.Invalid(field+".link.uri", "cannot be fetched: %s does not answer", host)
}

// described is the part of an input for a file.
func described(f store.File) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{
		FileId: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size, Sha256: f.SHA256, Width: int32(f.Width), Height: int32(f.Height),
	}}}
}

// find returns the file that a part names, or fetches it; false for parts that are no files.
func (s *Service) find(ctx context.Context, field string, p *turnv1.ContentPart) (f store.File, isFile bool, err error) {
	switch {
	case p.GetFile() != nil:
		f, err = s.Get(ctx, p.GetFile().GetFileId())
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			err = fault.Invalid(fmt.Sprintf("%s.file.file_id", field), "%v", err)
		}
	case p.GetLink().GetFetch():
		f, err = s.fetch(ctx, field, p.GetLink())
	default:
		return f, false, nil
	}
	return f, true, err
}
