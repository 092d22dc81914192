// Package iface has the types with which the server describes workers that it would start.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// ComputeProviderType names a cloud.
type ComputeProviderType string

// ComputeProviderSpec is where workers would run.
type ComputeProviderSpec struct {
	ProviderType  ComputeProviderType
	Config        *commonpb.Payload
	NexusEndpoint string
}

// ScalingAlgorithmType names a rule for how many workers there would be.
type ScalingAlgorithmType string

// ScalingAlgorithmSpec is how many workers there would be.
type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType
	Config           *commonpb.Payload
}

// ScalingGroupSpec is one group of workers.
type ScalingGroupSpec struct {
	TaskTypes []enumspb.TaskQueueType
	Compute   ComputeProviderSpec
	Scaling   *ScalingAlgorithmSpec
}

// ScalingGroupSpecUpdate changes a group of workers.
type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec
	UpdateMask []string
}

// WorkerControllerInstanceSpec is all groups of a version of workers.
type WorkerControllerInstanceSpec struct {
	ScalingGroupSpecs map[string]ScalingGroupSpec
}

// ValidationResult says whether a specification was accepted.
type ValidationResult string

// ValidationResultFailed is that of a specification that was refused.
const ValidationResultFailed ValidationResult = "failed"

// ValidationStatus is the outcome of the last check of a specification.
type ValidationStatus struct {
	Status             ValidationResult
	ErrMessage         string
	LastValidationTime time.Time
}

// QueryDescribeWorkerControllerInstanceResponse describes the workers of a version.
type QueryDescribeWorkerControllerInstanceResponse struct {
	Spec             *WorkerControllerInstanceSpec
	ValidationStatus *ValidationStatus
}

// UpdateWorkerControllerInstanceResponse is what an update left.
type UpdateWorkerControllerInstanceResponse struct {
	Spec *WorkerControllerInstanceSpec
}
