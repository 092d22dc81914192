package bff

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
)

const (
	// waitTime bounds a refresh, including the wait for another gateway. It is longer than the lease of the store: if that gateway is gone,
	// this one takes its place.
	waitTime = 15 * time.Second
	// askTime is how long the issuer may take to answer. It ends before the lease of the store does.
	askTime = 7 * time.Second
	// releaseTime is how long giving back a lease may take; together with askTime it is shorter than the lease.
	releaseTime = 2 * time.Second
	// pollTime is how often a gateway checks whether another one has refreshed a login, and how soon it tries again to store one.
	pollTime = 100 * time.Millisecond
)

// refresh returns new tokens of a login: its own, or those that another gateway has got meanwhile.
func (b *BFF) refresh(ctx context.Context, id []byte, revision int64) (tokens, error) {
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		t, current, err := b.read(ctx, id)
		if err != nil || current != revision && time.Now().Before(t.Renew) {
			return t, err
		}
		p, err := b.discover(ctx)
		if err != nil {
			return tokens{}, unavailable(err)
		}
		_, err = b.deps.Logins.LeaseLogin(ctx, &loginv1.LeaseLoginRequest{Id: id, Revision: current})
		switch {
		case err == nil:
			return b.renew(ctx, p, id, t, current)
		case status.Code(err) != codes.Aborted:
			return tokens{}, fmt.Errorf("lease a login: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return t, unavailable(ctx.Err())
		}
	}
}

// renew asks the issuer for new tokens and stores them. The caller holds the lease, which ends with this call.
func (b *BFF) renew(ctx context.Context, p *provider, id []byte, t tokens, revision int64) (tokens, error) {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	fresh, err := p.oauth.TokenSource(b.client(asking), &oauth2.Token{RefreshToken: t.Refresh}).Token()
	if err = withoutBody(err); final(err) {
		_, derr := b.deps.Logins.DeleteLogin(ctx, &loginv1.DeleteLoginRequest{Id: id})
		return tokens{}, errors.Join(errLoginEnded(), derr)
	}
	if err != nil {
		b.release(ctx, id, t, revision)
		return tokens{}, unavailable(err)
	}
	out := tokensOf(fresh, t)
	return out, b.keep(ctx, id, t, out, revision)
}

// release gives back the lease of a login whose tokens are as they were, so that the next request can try again.
func (b *BFF) release(ctx context.Context, id []byte, t tokens, revision int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	sealed, err := b.sealed(id, t)
	if err == nil {
		_, err = b.deps.Logins.UpdateLogin(ctx, &loginv1.UpdateLoginRequest{Id: id, Revision: revision, Sealed: sealed})
	}
	if err != nil {
		b.deps.Log.WarnContext(ctx, "the lease of a login could not be given back; it expires", "error", err)
	}
}

// keep stores the tokens that replace t. The issuer accepts t no more, and may end the login if it sees t again: keep tries again until ctx
// ends, also where another gateway has taken over the lease meanwhile.
func (b *BFF) keep(ctx context.Context, id []byte, t, fresh tokens, revision int64) error {
	sealed, err := b.sealed(id, fresh)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	for {
		_, err = b.deps.Logins.UpdateLogin(ctx, &loginv1.UpdateLoginRequest{Id: id, Revision: revision, Sealed: sealed})
		switch status.Code(err) { // others may be of a moment
		case codes.OK:
			return nil
		case codes.NotFound:
			return errLoginEnded()
		case codes.Aborted:
			now, current, err := b.read(ctx, id)
			if err == nil && now.Refresh != t.Refresh {
				return nil // an answer to this update was lost, or another refresh has followed
			}
			if err == nil {
				revision = current
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return unavailable(errors.Join(ctx.Err(), err))
		}
	}
}
