package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/skills"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/upstream"
)

// Names by which policy decides about what a server offers besides tools, after "source__".
const (
	resources = "resources"
	prompts   = "prompts"
)

// Servers implements ServerService.
type Servers struct {
	registryv1.UnimplementedServerServiceServer
	store    store.Store
	catalog  catalog
	upstream *upstream.Upstream
}

// ListServers implements ServerService.
func (s *Servers) ListServers(ctx context.Context, _ *registryv1.ListServersRequest) (*registryv1.ListServersResponse, error) {
	p := authn.From(ctx)
	resp := &registryv1.ListServersResponse{}
	for after := ""; ; {
		found, err := s.store.Sources(ctx, p.GetTenant(), after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list sources: %w", err)
		}
		var names []string
		for _, src := range found {
			if kinds.Facts(src.Kind).Bridge && !src.Disabled {
				names = append(names, src.Name+"__"+resources, src.Name+"__"+prompts)
			}
		}
		may, err := s.catalog.allowed(ctx, p, names)
		if err != nil {
			return nil, err
		}
		for _, src := range found {
			server := &registryv1.MCPServer{
				Source:    src.Name,
				Resources: slices.Contains(may, src.Name+"__"+resources), Prompts: slices.Contains(may, src.Name+"__"+prompts),
			}
			if src.Kind == skills.Name && !src.Disabled {
				usable, err := s.catalog.visible(ctx, p, src.Name, "", 1)
				if err != nil {
					return nil, err
				}
				server.Skills = len(usable) > 0
			}
			if server.GetResources() || server.GetPrompts() || server.GetSkills() {
				resp.Servers = append(resp.Servers, server)
			}
		}
		if len(found) < namesAtOnce {
			return resp, nil
		}
		after = found[len(found)-1].Name
	}
}

// ForwardRequest implements ServerService.
func (s *Servers) ForwardRequest(ctx context.Context, req *registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
	src, err := s.source(ctx, req.GetSource(), req.GetMethod())
	if err != nil {
		return nil, err
	}
	answer, err := s.upstream.Forward(ctx, src, req.GetMethod(), req.GetParamsJson(), req.GetAccepts())
	if err != nil {
		return nil, err
	}
	if e, ok := answer.GetAnswer().(*mcpbridgev1.ForwardResponse_Error); ok {
		return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_Error{
			Error: &registryv1.ProtocolError{Code: e.Error.GetCode(), Message: e.Error.GetMessage()},
		}}, nil
	}
	return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_ResultJson{ResultJson: answer.GetResultJson()}}, nil
}

// WatchResources implements ServerService.
func (s *Servers) WatchResources(
	req *registryv1.WatchResourcesRequest, stream grpc.ServerStreamingServer[registryv1.WatchResourcesResponse],
) error {
	ctx := stream.Context()
	src, err := s.source(ctx, req.GetSource(), "completion/complete") // which may be about either
	if err != nil {
		return err
	}
	may, err := s.catalog.allowed(ctx, authn.From(ctx), []string{src.Name + "__" + resources, src.Name + "__" + prompts})
	if err != nil {
		return err
	}
	mayResources, mayPrompts := slices.Contains(may, src.Name+"__"+resources), slices.Contains(may, src.Name+"__"+prompts)
	if len(req.GetUris()) > 0 && !mayResources {
		return noServer(src.Name)
	}
	offers := source.Offers{
		URIs: req.GetUris(), ResourceList: req.GetResourceList() && mayResources, PromptList: req.GetPromptList() && mayPrompts,
	}
	return s.upstream.WatchResources(ctx, src, offers, func(changed source.Offers) error {
		resp := &registryv1.WatchResourcesResponse{ResourceList: changed.ResourceList, PromptList: changed.PromptList}
		for _, uri := range changed.URIs {
			resp.Uri = uri
		}
		return stream.Send(resp)
	})
}

// source returns a source of which the caller may use what a method is about.
func (s *Servers) source(ctx context.Context, name, method string) (store.Source, error) {
	p := authn.From(ctx)
	src, err := s.store.Source(ctx, p.GetTenant(), name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return src, noServer(name)
	case err != nil:
		return src, fmt.Errorf("read source: %w", err)
	case !kinds.Facts(src.Kind).Bridge || src.Disabled:
		return src, noServer(name)
	}
	may, err := s.catalog.allowed(ctx, p, offered(src.Name, method))
	if err == nil && len(may) == 0 {
		err = noServer(name)
	}
	return src, err
}

// offered returns the names of which policy must allow one for a method. A completion is for an argument of a prompt or of a resource.
func offered(source, method string) []string {
	switch method {
	case "prompts/list", "prompts/get":
		return []string{source + "__" + prompts}
	case "completion/complete":
		return []string{source + "__" + prompts, source + "__" + resources}
	default:
		return []string{source + "__" + resources}
	}
}

func noServer(source string) *fault.Error {
	return fault.NotFound("there is no MCP source %q whose resources or prompts you may use", source).
		Hint("List the sources to see which there are.")
}
