package bundle

import (
	"context"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Sources is the part of the registry that manages sources. Requests are made in the name of the caller in ctx.
type Sources interface {
	// GetSource finds a source by its name. One that does not exist is an error with the reason NOT_FOUND.
	GetSource(ctx context.Context, in *registryv1.GetSourceRequest, opts ...grpc.CallOption) (*registryv1.Source, error)
	// CreateSource creates a source, or only validates it.
	CreateSource(ctx context.Context, in *registryv1.CreateSourceRequest, opts ...grpc.CallOption) (*registryv1.Source, error)
	// UpdateSource changes the fields of a source that the mask names, or only validates the change.
	UpdateSource(ctx context.Context, in *registryv1.UpdateSourceRequest, opts ...grpc.CallOption) (*registryv1.Source, error)
}

// Groups is the part of the registry that manages tool groups. Requests are made in the name of the caller in ctx.
type Groups interface {
	// GetToolGroup returns a group. One that does not exist is an error with the reason NOT_FOUND.
	GetToolGroup(ctx context.Context, in *registryv1.GetToolGroupRequest, opts ...grpc.CallOption) (*registryv1.ToolGroup, error)
	// CreateToolGroup creates a group, or only validates it.
	CreateToolGroup(ctx context.Context, in *registryv1.CreateToolGroupRequest, opts ...grpc.CallOption) (*registryv1.ToolGroup, error)
	// UpdateToolGroup changes the fields of a group that the mask names, or only validates the change.
	UpdateToolGroup(ctx context.Context, in *registryv1.UpdateToolGroupRequest, opts ...grpc.CallOption) (*registryv1.ToolGroup, error)
}

// Policies is the part of policy that manages access policies. Requests are made in the name of the caller in ctx.
type Policies interface {
	// GetAccessPolicy returns a policy. One that does not exist is an error with the reason NOT_FOUND.
	GetAccessPolicy(ctx context.Context, in *policyv1.GetAccessPolicyRequest, opts ...grpc.CallOption) (*policyv1.AccessPolicy, error)
	// CreateAccessPolicy creates a policy, or only validates it.
	CreateAccessPolicy(ctx context.Context, in *policyv1.CreateAccessPolicyRequest, opts ...grpc.CallOption) (*policyv1.AccessPolicy, error)
	// UpdateAccessPolicy changes the fields of a policy that the mask names, or only validates the change.
	UpdateAccessPolicy(ctx context.Context, in *policyv1.UpdateAccessPolicyRequest, opts ...grpc.CallOption) (*policyv1.AccessPolicy, error)
}

// SessionChecker returns why the caller cannot open a session with an agent, params and banks.
type SessionChecker func(ctx context.Context, a store.Agent, params *structpb.Struct, banks []string) error

// Deps are what the service needs; all but Groups, Policies, Routes, Models and Tools are required.
type Deps struct {
	Store     *store.Store
	Agents    *agent.Service
	Schedules *schedule.Service
	Webhooks  *webhook.Service
	Sources   Sources
	// Groups may be nil: then a bundle cannot hold groups.
	Groups Groups
	// Policies may be nil: then a bundle cannot hold policies.
	Policies Policies
	// Routes may be nil: then a bundle cannot hold routes.
	Routes Routes
	// Policy reports whether the caller may change schedules and webhooks.
	Policy       access.PermissionReader
	CheckSession SessionChecker
	// Models and Tools find what agents lack; without them there are no warnings.
	Models ModelResolver
	Tools  ToolLister
}

// Service applies bundles. It is safe for concurrent use.
type Service struct {
	deps      Deps
	validator protovalidate.Validator
}

// New makes the service.
func New(deps Deps) (*Service, error) {
	validator, err := rpc.Validator()
	if err != nil {
		return nil, err
	}
	return &Service{deps: deps, validator: validator}, nil
}

// Action is what became of a document.
type Action string

// What became of a document.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
)

// Applied is what became of one document.
type Applied struct {
	// Kind and ID name its resource; the ID of a source, group, policy or route is its name.
	Kind, ID string
	Action   Action
	// Revision is that of the resource now, 0 for a webhook or group.
	Revision uint32
	// Warning is something worth knowing, "" for nothing.
	Warning string
	// Secret is the signing secret of a webhook that was created.
	Secret secret.Value
}
