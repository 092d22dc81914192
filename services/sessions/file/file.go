// Package file keeps the files that users upload and give to turns.
package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/upload"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Config limits files.
type Config struct {
	MaxBytes        config.Size `yaml:"max_bytes" default:"32MiB" doc:"Maximum size of an uploaded file, at most 256MiB."`
	MaxBytesPerUser config.Size `yaml:"max_bytes_per_user" default:"1GiB" doc:"Maximum size of all uploaded files of a user together."`
	MaxPixels       int         `yaml:"max_pixels" default:"50000000" doc:"Maximum number of pixels of an image."`
	MaxUploads      int         `yaml:"max_uploads" default:"8" doc:"Maximum number of uploads that a process takes at a time, each in memory. Further ones wait."`
	Links           string      `yaml:"links" default:"public" doc:"Where links of inputs that are fetched may lead: public (public addresses, and those in egress.allow and egress.allow_hosts) or egress (wherever egress allows: with its profile local, every user reads the servers of the machine and of its network)."`
}

// Values of Config.Links; empty is LinksPublic.
const (
	LinksPublic = "public"
	LinksEgress = "egress"
)

// Check rejects a configuration that makes no sense.
func (c Config) Check() error {
	if c.MaxBytes > 256<<20 {
		return errors.New("sessions: files.max_bytes is more than 256MiB")
	}
	if !slices.Contains([]string{"", LinksPublic, LinksEgress}, c.Links) {
		return fmt.Errorf("sessions: files.links %q: want %s or %s", c.Links, LinksPublic, LinksEgress)
	}
	return nil
}

// maxRead is the maximum number of bytes that one read returns.
const maxRead = 8 << 20

// Spec describes a file that is uploaded.
type Spec struct{ Name, MediaType string }

// Service keeps files. It is safe for concurrent use.
type Service struct {
	cfg     Config
	store   *store.Store
	policy  access.PermissionReader
	client  *http.Client // fetches files at addresses
	uploads *upload.Gate
}

// New returns the service. policy says who may store files, and links that are fetched are dialled with e.
func New(cfg Config, s *store.Store, policy access.PermissionReader, e *egress.Egress) *Service {
	return &Service{cfg: cfg, store: s, policy: policy, client: cfg.client(e), uploads: upload.NewGate(cfg.MaxUploads)}
}

func errNotFound(id string) error {
	return fault.NotFound("file %q does not exist", strings.ReplaceAll(id, "\x00", ""))
}

// Upload stores a file of the caller. next returns its bytes piece by piece, and nothing at the end.
func (s *Service) Upload(ctx context.Context, spec Spec, next upload.Next) (store.File, error) {
	data, done, err := s.uploads.Receive(ctx, next, int64(s.cfg.MaxBytes), s.tooLarge(), fault.Invalid("file", "is empty"))
	if err != nil {
		return store.File{}, err
	}
	defer done()
	found, err := inspect(data, spec.MediaType, s.cfg.MaxPixels)
	if err != nil {
		return store.File{}, err
	}
	p, sum := authn.From(ctx), sha256.Sum256(data)
	f := store.File{
		Tenant: p.GetTenant(), ID: ids.New(ids.File), Subject: p.GetSubject(), Name: baseName(spec.Name), MediaType: found.mediaType,
		Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Width: found.width, Height: found.height, CreateTime: s.store.Now(),
	}
	fits := false
	err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		fits, err = tx.AddFile(ctx, f, data, int64(s.cfg.MaxBytesPerUser))
		return err
	})
	if err == nil && !fits {
		err = s.noRoom()
	}
	return f, err
}

// noRoom is the error about files of a user that have too many bytes together.
func (s *Service) noRoom() error {
	return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED,
		"with this file, your files would have more than %d bytes together", s.cfg.MaxBytesPerUser).
		Hint("Delete files that you need no longer.")
}

// tooLarge is the error about a file with too many bytes.
func (s *Service) tooLarge() error {
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the file has more than %d bytes", s.cfg.MaxBytes)
	e.Fields = []fault.Field{{Path: "file", Message: fmt.Sprintf("at most %d bytes", s.cfg.MaxBytes)}}
	return e.Hint("Send a smaller file, or raise sessions.files.max_bytes.")
}

// baseName is the last part of the path that a caller names a file by.
func baseName(name string) string {
	name = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name), "\uFFFD")
	switch base := path.Base(strings.ReplaceAll(name, `\`, "/")); base {
	case ".", "/", "..":
		return "file"
	default:
		return base
	}
}

// Get returns a file that the caller may see.
func (s *Service) Get(ctx context.Context, id string) (store.File, error) {
	if !access.Storable(id) {
		return store.File{}, errNotFound(id)
	}
	f, err := s.store.File(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !access.Sees(ctx, f.Subject) {
		return store.File{}, errNotFound(id)
	}
	return f, err
}

// List returns at most limit files that the caller may see, newest first, from behind the given one; "" = from the newest on.
func (s *Service) List(ctx context.Context, before string, limit int) ([]store.File, error) {
	return s.store.Files(ctx, authn.Tenant(ctx), access.Owner(ctx), before, limit)
}

// Read returns a file that the caller may see, and up to length bytes of it from an offset; 0 stands for as many as one read returns.
func (s *Service) Read(ctx context.Context, id string, offset, length int64) (store.File, []byte, error) {
	f, err := s.Get(ctx, id)
	if err != nil {
		return f, nil, err
	}
	if length == 0 || length > maxRead {
		length = maxRead
	}
	data, err := s.store.ArtifactData(ctx, f.Tenant, f.SHA256, min(offset, f.Size), length)
	if errors.Is(err, store.ErrNotFound) { // deleted just now
		err = errNotFound(id)
	}
	return f, data, err
}

// Delete deletes a file that the caller may see.
func (s *Service) Delete(ctx context.Context, id string) error {
	f, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteFile(ctx, f.Tenant, f.ID) })
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return err
}
