package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// ErrNoDeployment means that no worker has polled under that name.
var ErrNoDeployment = errors.New("no worker of this deployment has connected to Temporal")

// Version is one version of a deployment of workers.
type Version struct {
	// BuildID names it.
	BuildID string `json:"build_id"`
	// State is "current" (takes new turns), "ramping" (takes a part of them), "draining" (turns are left that began with it), "drained" (its
	// workers may be stopped) or "inactive" (never was current).
	State string `json:"state"`
	// Created is when a worker of it was first seen.
	Created time.Time `json:"create_time"`
}

// Versions lists what is known of a deployment, newest first. ErrNoDeployment when there is none of that name.
func Versions(ctx context.Context, c Client, deployment string) ([]Version, error) {
	d, err := c.WorkerDeploymentClient().GetHandle(deployment).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return nil, deploymentError(deployment, err)
	}
	routing := d.Info.RoutingConfig
	versions := make([]Version, 0, len(d.Info.VersionSummaries))
	for _, v := range d.Info.VersionSummaries {
		one := Version{BuildID: v.Version.BuildID, State: "inactive", Created: v.CreateTime}
		switch {
		case routing.CurrentVersion != nil && *routing.CurrentVersion == v.Version:
			one.State = "current"
		case routing.RampingVersion != nil && *routing.RampingVersion == v.Version:
			one.State = "ramping"
		case v.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDraining:
			one.State = "draining"
		case v.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained:
			one.State = "drained"
		}
		versions = append(versions, one)
	}
	return versions, nil
}

// Promote has a version take all new turns. Turns under way stay with the version they began with. An empty build gives new turns back to
// workers without a version. It fails when no worker of that version has polled yet.
func Promote(ctx context.Context, c Client, deployment, build string) error {
	_, err := c.WorkerDeploymentClient().GetHandle(deployment).SetCurrentVersion(
		ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build},
	)
	return deploymentError(deployment, err)
}

func deploymentError(deployment string, err error) error {
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return fmt.Errorf("%w: %q (%w)", ErrNoDeployment, deployment, err)
	}
	return fmt.Errorf("deployment %q: %w", deployment, err)
}
