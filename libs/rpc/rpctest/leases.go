package rpctest

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Leases implements quota.Leaser: so many requests for each tenant and each user, one at a time, in a minute that does not end.
type Leases struct {
	Max int64

	mu     sync.Mutex
	leased map[string]int64
}

// LeaseRequests implements quota.Leaser.
func (l *Leases) LeaseRequests(_ context.Context, in *policyv1.LeaseRequestsRequest,
	_ ...grpc.CallOption,
) (*policyv1.LeaseRequestsResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leased == nil {
		l.leased = map[string]int64{}
	}
	out := &policyv1.LeaseRequestsResponse{ValidFor: durationpb.New(time.Minute)}
	if l.leased[in.GetUser()] < l.Max {
		l.leased[in.GetUser()]++
		out.Requests = 1
	}
	return out, nil
}
