package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	startTimeout = time.Minute // a busy machine may need many times the usual half second
	probeEvery   = 10 * time.Millisecond
)

// waitReady returns when a client can use everything: the frontend answers, the namespaces exist and the history service has acquired its
// shards.
func waitReady(ctx context.Context, address string, trusted *certificates, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(trusted.credentials()))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	defer conn.Close()
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	for {
		err := probe(ctx, frontend, namespaces)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not become ready within %s: %w", startTimeout, err)
		case <-time.After(probeEvery):
		}
	}
}

func probe(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := frontend.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}, grpc.WaitForReady(true)); err != nil {
		return err
	}
	for _, name := range namespaces {
		// A workflow that does not exist: "not found" can only come from the shard that would own it.
		_, err := frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: name,
			Execution: &commonpb.WorkflowExecution{WorkflowId: "windlass-ready-probe"},
		})
		var noNamespace *serviceerror.NamespaceNotFound
		if err != nil && (status.Code(err) != codes.NotFound || errors.As(serviceerror.FromStatus(status.Convert(err)), &noNamespace)) {
			return err
		}
	}
	return nil
}
