// Package client stands for the client of workers that the server starts in clouds: there are none.
package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"

	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
)

// Module provides the client.
var Module = fx.Provide(func() Client { return Client{} })

// Client knows of no workers, and refuses to start any.
type Client struct{}

// absent is the answer to what would need a cloud.
func absent() error {
	return serviceerror.NewInvalidArgument("this server does not start workers in clouds: run them yourself, or use a Temporal cluster")
}

// DescribeWorkerControllerInstance finds none.
func (Client) DescribeWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("no workers in clouds")
}

// UpdateWorkerControllerInstance refuses.
func (Client) UpdateWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, absent()
}

// ValidateWorkerControllerInstanceSpec refuses.
func (Client) ValidateWorkerControllerInstanceSpec(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return absent()
}

// DeleteWorkerControllerInstance has nothing to delete.
func (Client) DeleteWorkerControllerInstance(context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string) error {
	return nil
}
