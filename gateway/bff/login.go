package bff

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// margin is how long a token must be valid to be used.
const margin = 2 * time.Second

func owner(id []byte) string { return "login " + hex.EncodeToString(id) }

func marshal(t tokens) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encode tokens: %w", err)
	}
	return string(text), nil
}

// begin stores a login and returns the secret for its cookie.
func (b *BFF) begin(ctx context.Context, t tokens, user *policyv1.Principal) (cookie string, err error) {
	cookie = newSecret()
	id := idOf(cookie)
	sealed, err := b.sealed(id, t)
	if err != nil {
		return "", err
	}
	expires := time.Now().Add(b.cfg.MaxAge)
	if t.Refresh == "" && t.Expires.Before(expires) {
		expires = t.Expires
	}
	_, err = b.deps.Logins.CreateLogin(ctx, &loginv1.CreateLoginRequest{
		Id: id, Sealed: sealed, ExpireTime: timestamppb.New(expires), Tenant: user.GetTenant(), Subject: user.GetSubject(),
	})
	if err != nil {
		return "", fmt.Errorf("store a login: %w", err)
	}
	return cookie, nil
}

// errLoginEnded is the error of a login that has ended.
func errLoginEnded() error {
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "your login has ended").
		Hint("Log in again, or log out to go on without.")
}

// read returns a login's tokens and their revision.
func (b *BFF) read(ctx context.Context, id []byte) (t tokens, revision int64, err error) {
	l, err := b.deps.Logins.GetLogin(ctx, &loginv1.GetLoginRequest{Id: id})
	if err != nil {
		if status.Code(err) == codes.NotFound {
			return t, 0, errLoginEnded()
		}
		return t, 0, fmt.Errorf("read a login: %w", err)
	}
	text, err := b.box.Open(l.GetSealed(), owner(id))
	if err != nil || json.Unmarshal([]byte(text.Reveal()), &t) != nil {
		return t, 0, errLoginEnded() // mesh.key has changed
	}
	return t, l.GetRevision(), nil
}

// Token returns the access token of a request's login; present is false if the browser has none. A request that changes something must
// prove that a page of the gateway makes it.
func (b *BFF) Token(r *http.Request) (token string, present bool, err error) {
	cookie, present := cookieValue(r, b.names.login)
	if !present {
		return "", false, nil
	}
	if err := b.ownPage(r); err != nil {
		return "", true, err
	}
	if cookie == "" {
		return "", true, errLoginEnded()
	}
	ctx, id := r.Context(), idOf(cookie)
	t, revision, err := b.read(ctx, id)
	switch now := time.Now(); {
	case err != nil || now.Before(t.Renew):
	case t.Refresh == "":
		if now.Add(margin).After(t.Expires) {
			err = errLoginEnded()
		}
	case now.Add(margin).Before(t.Expires):
		b.background.Go(func() { _, _ = b.refreshed(context.WithoutCancel(ctx), id, revision) }) // logged there
	default:
		t, err = b.refreshed(ctx, id, revision)
	}
	return t.Access, true, err
}

// ownPage refuses requests with our cookie that no page of the gateway makes. Origins that may call the API with tokens may not use the
// cookie.
func (b *BFF) ownPage(r *http.Request) error {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	if read && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil
	}
	asPost := *r
	asPost.Method = http.MethodPost
	err := b.strict.Check(&asPost)
	if err == nil && !read && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		err = errors.New("neither Origin nor Sec-Fetch-Site says which page makes the request")
	}
	if err != nil {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "only pages of this gateway may use its cookies").
			Hint("Programs send a token instead.").Cause(err)
	}
	return nil
}

// refreshed replaces the tokens of a login, of which the caller has read this revision. Concurrent calls share one refresh.
func (b *BFF) refreshed(ctx context.Context, id []byte, revision int64) (tokens, error) {
	ch := b.refreshing.DoChan(string(id), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), waitTime)
		defer cancel()
		fresh, err := b.refresh(ctx, id, revision)
		if err != nil {
			b.deps.Log.WarnContext(ctx, "a login could not be refreshed", "error", err)
		}
		return fresh, err
	})
	select {
	case r := <-ch:
		fresh, _ := r.Val.(tokens)
		return fresh, r.Err
	case <-ctx.Done():
		return tokens{}, ctx.Err()
	}
}

func unavailable(err error) error {
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "your login cannot be renewed now").
		Hint("Try again. The identity provider may not be reachable from Windlass.").Cause(err)
}
