// Package usertoken gets the tokens of users for sources from the policy service, for the role that calls the sources.
package usertoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// MaxAge is how long a token is used before it is asked for again: a deleted connection is not used longer than that.
	MaxAge = 15 * time.Second
	// early is how long before its expiry it is asked for again.
	early = 20 * time.Second
	// timeout bounds one request, during which policy may refresh the token.
	timeout = 25 * time.Second
	// entries is how many tokens are kept.
	entries = 4096
)

// Want says whose token is wanted.
type Want struct {
	// Tenant and Subject are those of the user.
	Tenant, Subject string
	// SourceID and Source identify the source, Target is a digest of where it is.
	SourceID, Source, Target string
}

// Token is a user's access token.
type Token struct {
	// Value is the token.
	Value secret.Value
	// Version counts the tokens of the user's connection.
	Version uint32
}

// Client gets tokens, and keeps them in memory for a short time. It is safe for concurrent use.
type Client struct {
	policy  policyv1.ConnectionServiceClient
	kept    *lru.Cache[Want, entry]
	refused *lru.Cache[Want, uint32]
	flight  singleflight.Group
	now     func() time.Time
}

type entry struct {
	token Token
	until time.Time
}

// New returns a Client. The connection must be made as the process's own role.
func New(policy policyv1.ConnectionServiceClient) *Client {
	kept, err := lru.New[Want, entry](entries)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	refused, err := lru.New[Want, uint32](entries)
	if err != nil {
		panic(err) // the same
	}
	return &Client{policy: policy, kept: kept, refused: refused, now: time.Now}
}

// Token returns a user's token. The error is a fault: FAILED_PRECONDITION/AUTHORIZATION_REQUIRED if the user has no usable connection.
func (c *Client) Token(ctx context.Context, w Want) (Token, error) {
	if have, ok := c.kept.Get(w); ok && c.now().Before(have.until) {
		return have.token, nil
	}
	refused, _ := c.refused.Get(w)
	answer := c.flight.DoChan(fmt.Sprintf("%q %d", w, refused), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return c.resolve(ctx, w, &policyv1.ResolveConnectionRequest{RefusedVersion: refused})
	})
	select {
	case <-ctx.Done():
		return Token{}, ctx.Err()
	case a := <-answer:
		if a.Err != nil {
			return Token{}, a.Err
		}
		t, ok := a.Val.(Token)
		if !ok {
			return Token{}, errors.New("usertoken: foreign value in the singleflight group")
		}
		return t, nil
	}
}

func (c *Client) resolve(ctx context.Context, w Want, req *policyv1.ResolveConnectionRequest) (Token, error) {
	req.Tenant, req.Subject, req.SourceId, req.Source, req.Target = w.Tenant, w.Subject, w.SourceID, w.Source, w.Target
	resp, err := c.policy.ResolveConnection(ctx, req)
	if err != nil {
		return Token{}, err // its code and its reason count
	}
	t := Token{Value: secret.New(resp.GetAccessToken()), Version: resp.GetVersion()}
	until := c.now().Add(MaxAge)
	if e := resp.GetExpireTime(); e != nil && e.AsTime().Add(-early).Before(until) {
		until = e.AsTime().Add(-early)
	}
	c.kept.Add(w, entry{t, until})
	return t, nil
}

// Refused says that the source refused a token: the next one is another.
func (c *Client) Refused(w Want, t Token) {
	if have, ok := c.refused.Get(w); !ok || have < t.Version {
		c.refused.Add(w, t.Version)
	}
	c.drop(w, t)
}

// Insufficient says that the source refused a token for its scopes, and which ones it wants. It returns nil if the user has another token
// by now, which is the next one, and otherwise the fault of the call: that of an authorization, if the user may grant them.
func (c *Client) Insufficient(ctx context.Context, w Want, t Token, scopes []string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.drop(w, t)
	_, err := c.resolve(ctx, w, &policyv1.ResolveConnectionRequest{InsufficientVersion: t.Version, WantedScopes: scopes})
	return err
}

// drop forgets a token, unless a newer one is kept.
func (c *Client) drop(w Want, t Token) {
	if have, ok := c.kept.Get(w); ok && have.token.Version <= t.Version {
		c.kept.Remove(w)
	}
}
