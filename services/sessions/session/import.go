package session

import (
	"context"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// MaxTitle and MaxLabels are how many characters a title may have, and how many labels a session.
const MaxTitle, MaxLabels = 200, 64

// Import opens a session of the caller that begins with messages that they send, at most maxBytes of them. once names the request.
func (s *Service) Import(ctx context.Context, spec Spec, messages []*turnv1.Message, maxBytes int, once store.Once) (store.Session, error) {
	switch {
	case utf8.RuneCountInString(spec.Title) > MaxTitle:
		return store.Session{}, fault.Invalid("session.title", "has more than %d characters", MaxTitle)
	case len(spec.Labels) > MaxLabels:
		return store.Session{}, fault.Invalid("session.labels", "are more than %d", MaxLabels)
	}
	return s.begin(ctx, once, func() (*conversation.Copy, error) {
		ses, err := s.New(ctx, spec)
		if err != nil {
			return nil, err
		}
		return s.deps.Conversations.Imported(ctx, ses, messages, maxBytes, s.mayRead)
	})
}

// mayRead reports whether the caller may see a session.
func (s *Service) mayRead(ctx context.Context, id string) (bool, error) {
	err := s.deps.Access.CheckSession(ctx, id)
	if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		return false, nil
	}
	return err == nil, err
}

// begin stores a session with what it begins with, unless the same request has stored one before.
func (s *Service) begin(ctx context.Context, once store.Once, read func() (*conversation.Copy, error)) (store.Session, error) {
	earlier, found, err := s.deps.Keys.Earlier(ctx, once)
	if err != nil {
		return store.Session{}, err
	}
	if found {
		return s.Get(ctx, earlier.SessionID)
	}
	c, err := read()
	if err != nil {
		return store.Session{}, err
	}
	var made store.Session
	again := ""
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		again = ""
		once := once
		once.SessionID = c.Session.ID
		first, added, err := s.deps.Keys.Remember(tx, once)
		if err != nil || !added {
			again = first.SessionID
			return err
		}
		err = c.Write(tx)
		made = tx.Session
		return err
	})
	if err == nil && again != "" {
		return s.Get(ctx, again)
	}
	return made, err
}
