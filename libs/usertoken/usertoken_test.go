package usertoken

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// policy has a connection whose token has a version.
type policy struct {
	policyv1.ConnectionServiceClient
	version uint32
	asked   []*policyv1.ResolveConnectionRequest
}

var errMore = errors.New("it wants more")

func (p *policy) ResolveConnection(
	_ context.Context, req *policyv1.ResolveConnectionRequest, _ ...grpc.CallOption,
) (*policyv1.ResolveConnectionResponse, error) {
	p.asked = append(p.asked, req)
	if req.GetInsufficientVersion() == p.version {
		return nil, errMore
	}
	return &policyv1.ResolveConnectionResponse{AccessToken: "token", Version: p.version}, nil
}

func TestATokenWithoutTheScopesThatAreWanted(t *testing.T) {
	p := &policy{version: 1}
	c, want := New(p), Want{Tenant: "default", Subject: "alice", SourceID: "src_1", Source: "crm", Target: "t"}
	first, err := c.Token(t.Context(), want)
	if err != nil || first.Version != 1 {
		t.Fatalf("%+v, %v", first.Version, err)
	}
	if err := c.Insufficient(t.Context(), want, first, []string{"read", "write"}); !errors.Is(err, errMore) {
		t.Errorf("before the user granted them: %v", err)
	}
	last := p.asked[len(p.asked)-1]
	if last.GetSubject() != "alice" || last.GetSourceId() != "src_1" || last.GetTarget() != "t" ||
		!slices.Equal(last.GetWantedScopes(), []string{"read", "write"}) {
		t.Errorf("asked for %v", last)
	}
	p.version = 2
	if err := c.Insufficient(t.Context(), want, first, []string{"read"}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	n := len(p.asked)
	if next, err := c.Token(t.Context(), want); err != nil || next.Version != 2 || len(p.asked) != n {
		t.Errorf("the next token: %d, %v, after %d requests", next.Version, err, len(p.asked)-n)
	}
}
