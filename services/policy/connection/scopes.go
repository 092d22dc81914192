package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/challenge"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
)

// more is the fault of a call that the source refused for the scopes of the user's token. The user is asked once for scopes that the source
// wants: one that refuses a login with all that it wants is not asked for again. ErrNotFound means that the tokens are others by now.
func (c *Connections) more(ctx context.Context, w Wanted, have store.Connection) error {
	wants := challenge.Scopes(strings.Join(w.Scopes, " "))
	text := strings.Join(wants, " ")
	again := fmt.Sprintf("Connect it again: windlass connection create %s.", w.Source)
	if len(wants) == 0 {
		return precondition("source %q refuses the call for the scopes of your login, and does not say which ones it wants", w.Source).Hint(
			"An operator adds them to the scopes of the source's auth. %s", again)
	}
	if err := c.deps.Store.Want(ctx, have, bounded(have.Wanted, wants)); err != nil {
		return err
	}
	switch {
	case without(wants, have.Scopes) == nil:
		return precondition("source %q refuses the call, although your login has the scopes that it wants: %s", w.Source, text).Hint(
			"It may be that your account there does not have the right. %s", again)
	case without(without(wants, have.Scopes), have.Login.Scopes) == nil:
		return precondition("source %q wants scopes that its authorization server did not grant you: %s", w.Source, text).Hint(
			"See that you, and the client, may have them. %s", again)
	}
	f := fault.AuthorizationRequired(w.Source, fault.Connection, c.ConnectURL(w.Source, w.Subject),
		"source %q wants more than you granted: %s", w.Source, text)
	f.Details[fault.DetailScopes] = text
	return f
}

// widen adds what the user granted, and what the source wants besides, to the scopes of a new attempt. If it wants none, an attempt
// requests no more than the source's definition says, also if more was granted before.
func widen(ctx context.Context, s *store.Store, a *store.Attempt) error {
	have, err := s.Get(ctx, a.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && (len(have.Wanted) == 0 || have.Target != a.Target) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read connection: %w", err)
	}
	if have.Login.Issuer == a.Login.Issuer && have.Login.AuthorizationURL == a.Login.AuthorizationURL {
		a.Login.Scopes = union(a.Login.Scopes, have.Scopes)
	}
	a.Login.Scopes = union(a.Login.Scopes, have.Wanted)
	return nil
}

// bounded adds scopes to others, or takes their place: a source could want others each time.
func bounded(have, wants []string) []string {
	if all := union(have, wants); len(all) <= challenge.MaxScopes {
		return all
	}
	return wants
}

// union returns all scopes, each once.
func union(a, b []string) []string { return slices.Concat(a, without(b, a)) }

// without returns the scopes that others lack; nil = none.
func without(scopes, others []string) (out []string) {
	for _, s := range scopes {
		if !slices.Contains(others, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
