package vault_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/vault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// policy answers with a value or an error, and counts.
type policy struct {
	policyv1.SecretServiceClient
	value string
	err   error
	asked int
}

func (p *policy) ResolveSecret(_ context.Context, r *policyv1.ResolveSecretRequest, _ ...grpc.CallOption) (*policyv1.ResolveSecretResponse,
	error,
) {
	p.asked++
	return &policyv1.ResolveSecretResponse{Value: r.GetTenant() + p.value}, p.err
}

func TestValuesAreKeptForAShortTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &policy{value: "1"}
		c := vault.New(p)
		is := func(tenant, want string, asked int) {
			t.Helper()
			got, err := c.Secret(tenant, "key")
			if err != nil || got.Reveal() != want || p.asked != asked {
				t.Errorf("got %q, %v after %d requests; want %q after %d", got.Reveal(), err, p.asked, want, asked)
			}
		}
		is("a", "a1", 1)
		is("a", "a1", 1)
		is("b", "b1", 2)
		p.value = "2"
		time.Sleep(vault.MaxAge)
		is("a", "a2", 3)

		p.err = status.Error(codes.Unavailable, "away")
		time.Sleep(vault.MaxAge)
		is("a", "a2", 4)
		time.Sleep(time.Hour)
		if _, err := c.Secret("a", "key"); status.Code(err) != codes.Unavailable {
			t.Errorf("an hour later: %v", err)
		}
		p.err = nil
		is("a", "a2", 6)
		p.err = status.Error(codes.NotFound, "deleted")
		time.Sleep(vault.MaxAge)
		if _, err := c.Secret("a", "key"); status.Code(err) != codes.NotFound {
			t.Errorf("deleted: %v", err)
		}
		p.err = status.Error(codes.Unavailable, "away")
		if _, err := c.Secret("a", "key"); status.Code(err) != codes.Unavailable {
			t.Errorf("deleted, and policy is away: %v", err)
		}
	})
}
