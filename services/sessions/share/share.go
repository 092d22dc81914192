// Package share shows conversations to readers who have a link. What a share shows is put together from what it may show, not by removing
// what it may not.
package share

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/sharedb"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxShares is how many shares of a session there may be at a time.
const maxShares = 100

// Config bounds shares.
type Config struct {
	TTL    time.Duration `yaml:"ttl" default:"720h" doc:"When a share of a conversation expires if its maker sets no time."`
	MaxTTL time.Duration `yaml:"max_ttl" default:"9600h" doc:"Maximum time until a share expires."`
	Poll   time.Duration `yaml:"poll" default:"5s" doc:"How often an open stream of a share checks for new messages and for its end without a notification."`
}

// messages is the part of the bus that shares use.
type messages interface {
	Publish(subject string, data []byte) error
	Subscribe(subject string, buf int) (*bus.Subscription, error)
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store         *store.Store
	Access        access.Reader
	Conversations *conversation.Service
	Sessions      *session.Service
	Bus           messages
	Log           *slog.Logger
}

// Service manages shares and shows them. It is safe for concurrent use.
type Service struct {
	cfg  Config
	deps Deps
}

// New returns the service.
func New(cfg Config, deps Deps) *Service { return &Service{cfg, deps} }

// Spec is what a caller sets of a new share.
type Spec struct {
	SessionID              string
	Writable, Live, Redact bool
	Audience               sharedb.Audience
	Subjects               []string
	// TTL is how long it is valid, 0 = Config.TTL.
	TTL time.Duration
	// Seq is the newest message that it shows, 0 = the newest.
	Seq uint32
}

// Create makes a share of a session of the caller. The token is not stored.
func (s *Service) Create(ctx context.Context, spec Spec) (share sharedb.Share, token string, err error) {
	ses, err := s.deps.Access.Session(ctx, spec.SessionID)
	if err != nil {
		return share, "", err
	}
	if err := s.check(spec, ses); err != nil {
		return share, "", err
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	token = base64.RawURLEncoding.EncodeToString(random)
	ttl := spec.TTL
	if ttl == 0 {
		ttl = s.cfg.TTL
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.LockSession(ctx, ses.Tenant, ses.ID)
		if err != nil {
			return err
		}
		at := s.deps.Store.Now()
		switch n, err := sharedb.Count(ctx, tx, ses.Tenant, ses.ID, at); {
		case err != nil:
			return err
		case n >= maxShares:
			return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_LIMIT_REACHED, "the session has %d shares", n).
				Hint("Revoke those that are not needed any more.")
		}
		share = sharedb.Share{
			Tenant: ses.Tenant, ID: ids.New(ids.Share), SessionID: ses.ID, Hash: hash(token), Subject: authn.From(ctx).GetSubject(),
			Title: now.Title, Writable: spec.Writable, Audience: spec.Audience, Subjects: spec.Subjects, Live: spec.Live, Redact: spec.Redact,
			CreateTime: at, ExpireTime: at.Add(ttl),
		}
		if !spec.Live {
			if share.Seq = spec.Seq; share.Seq == 0 {
				share.Seq = now.LastSeq
			}
		}
		return sharedb.Add(ctx, tx, share)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoSession(ses.ID)
	}
	return share, token, err
}

func (s *Service) check(spec Spec, ses store.Session) error {
	switch named := spec.Audience == sharedb.Named; {
	case named && len(spec.Subjects) == 0:
		return fault.Invalid("subjects", "a named audience needs the subjects of its users")
	case !named && len(spec.Subjects) > 0:
		return fault.Invalid("subjects", "only a named audience has subjects")
	case slices.ContainsFunc(spec.Subjects, func(v string) bool { return !access.Storable(v) }):
		return fault.Invalid("subjects", "must not contain NUL")
	case spec.TTL > s.cfg.MaxTTL:
		return fault.Invalid("ttl_seconds", "is more than the %s allowed", s.cfg.MaxTTL)
	case spec.Live && spec.Seq > 0:
		return fault.Invalid("seq", "a live share is not fixed at a message")
	case spec.Seq > ses.LastSeq:
		return fault.Invalid("seq", "is %d, but the session's last event has seq %d", spec.Seq, ses.LastSeq)
	case !spec.Live && ses.LastSeq == 0:
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the session has no turn of its own yet").
			Hint("Share it after its first turn, or make a live share.")
	}
	return nil
}

// List lists the shares of a session of the caller.
func (s *Service) List(ctx context.Context, sessionID string) ([]sharedb.Share, error) {
	ses, err := s.deps.Access.Session(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return sharedb.List(ctx, s.deps.Store.DB.Reader(), ses.Tenant, ses.ID, s.deps.Store.Now())
}

// Revoke ends a share of a session of the caller, and its streams.
func (s *Service) Revoke(ctx context.Context, sessionID, id string) error {
	ses, err := s.deps.Access.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	none := fault.NotFound("share %q does not exist", id)
	if !access.Storable(id) {
		return none
	}
	found := false
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		found, err = sharedb.Delete(ctx, tx, ses.Tenant, ses.ID, id)
		return err
	})
	if err != nil {
		return err
	}
	if !found {
		return none
	}
	// Streams check their share when they get a message, whatever it is.
	if err := s.deps.Bus.Publish(contract.EventSubject(ses.Tenant, ses.ID), nil); err != nil {
		s.deps.Log.DebugContext(ctx, "streams of a revoked share not notified", "share_id", id, "error", err)
	}
	return nil
}

// Forget removes the shares that have expired.
func (s *Service) Forget(ctx context.Context) error {
	return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return sharedb.Forget(ctx, tx, s.deps.Store.Now()) })
}

// hash returns what is stored of a token. It has too many random bits to be found by trying.
func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// errNone is the error about a link that leads nowhere, for whatever reason.
func errNone() error {
	return fault.NotFound("this link does not lead to a conversation, or not for you")
}

// Conversation is a shared session.
type Conversation struct {
	sharedb.Share
	session store.Session
}

// ShownTitle is what readers see: of a fixed share the title of the time when it was made.
func (c Conversation) ShownTitle() string {
	if c.Live {
		return c.session.Title
	}
	return c.Title
}

// upTo is the seq of the newest message that it shows.
func (c Conversation) upTo() int64 {
	if c.Live {
		return store.AfterAll
	}
	return int64(c.Seq)
}

// Open returns the conversation that a token leads to, if the caller belongs to its audience.
func (s *Service) Open(ctx context.Context, token string) (Conversation, error) {
	share, err := sharedb.ByHash(ctx, s.deps.Store.DB.Reader(), hash(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && (!share.ExpireTime.After(s.deps.Store.Now()) || !admits(ctx, share)) {
		err = errNone()
	}
	if err != nil {
		return Conversation{}, err
	}
	ses, err := s.deps.Store.Session(ctx, share.Tenant, share.SessionID)
	if errors.Is(err, store.ErrNotFound) {
		err = errNone()
	}
	if err != nil {
		return Conversation{}, fmt.Errorf("shared session: %w", err)
	}
	return Conversation{share, ses}, nil
}

// admits reports whether the caller belongs to the audience of a share.
func admits(ctx context.Context, share sharedb.Share) bool {
	p := authn.From(ctx)
	switch member := !authn.IsAnonymous(p) && p.GetTenant() == share.Tenant; share.Audience {
	case sharedb.Anyone:
		return true
	case sharedb.Tenant:
		return member
	case sharedb.Named:
		return member && (slices.Contains(share.Subjects, p.GetSubject()) || p.GetSubject() == share.Subject)
	}
	return false
}
