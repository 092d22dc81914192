package rpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// revocable is an authorizer that denies everything once it is revoked.
type revocable struct {
	authz.Changes
	revoked atomic.Bool
	away    atomic.Bool
	records atomic.Int32
}

func (r *revocable) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	if r.away.Load() {
		return authz.Verdict{}, context.DeadlineExceeded
	}
	if r.revoked.Load() {
		return authz.Verdict{DeniedBy: "leavers"}, nil
	}
	return authz.Verdict{Allowed: true}, nil
}

func (r *revocable) RecordDenied(context.Context, *policyv1.Principal, string, string) {
	r.records.Add(1)
}

func (r *revocable) Changed() <-chan struct{} { return r.Next() }

// watched serves streams without an end.
type watched struct {
	sessionsv1.UnimplementedTurnServiceServer
}

func (watched) WatchTurn(_ *sessionsv1.WatchTurnRequest, w sessionsv1.TurnService_WatchTurnServer) error {
	if err := w.Send(&sessionsv1.WatchTurnResponse{Cursor: "1"}); err != nil {
		return err
	}
	<-w.Context().Done()
	return w.Context().Err()
}

func TestStreamsEndWhenTheirCallersLoseThePermission(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*revocable)
		after  time.Duration // 0: at once
	}{
		{"policy reports the change", func(r *revocable) { r.revoked.Store(true); r.Notify() }, 0},
		{"the change is not reported", func(r *revocable) { r.revoked.Store(true) }, authn.Recheck},
		{"policy was away when it was reported", func(r *revocable) {
			r.revoked.Store(true)
			r.away.Store(true)
			r.Notify()
			time.AfterFunc(time.Second, func() { r.away.Store(false) })
		}, authn.Recheck},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := &revocable{}
				conn := rpctest.ServeAs(t, "sessions", func(s grpc.ServiceRegistrar) {
					sessionsv1.RegisterTurnServiceServer(s, watched{})
				}, rpctest.WithAuthorizer(policy))
				stream, err := sessionsv1.NewTurnServiceClient(conn).WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: "trn_1"})
				if err == nil {
					_, err = stream.Recv()
				}
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				policy.Notify() // another change
				synctest.Wait()
				begin := time.Now()
				row.change(policy)
				_, err = stream.Recv()
				f := fault.From(err)
				if f.Code != codes.PermissionDenied || !strings.Contains(f.Message, "leavers") || time.Since(begin) > row.after {
					t.Errorf("after %v: %v", time.Since(begin), err)
				}
				if policy.records.Load() != 1 {
					t.Errorf("%d denials are recorded", policy.records.Load())
				}
				if _, err := stream.Recv(); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("the stream goes on: %v", err)
				}
			})
		})
	}
}
