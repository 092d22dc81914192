package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// ModelResolver is the part of the inference service that resolves models. An unknown one is an error with the reason MODEL_UNKNOWN.
type ModelResolver interface {
	ResolveModel(ctx context.Context, req *inferencev1.ResolveModelRequest, opts ...grpc.CallOption) (*inferencev1.Model, error)
}

// ToolLister is the part of the registry that lists tools. Requests are made in the name of the caller in ctx.
type ToolLister interface {
	ListTools(ctx context.Context, in *registryv1.ListToolsRequest, opts ...grpc.CallOption) (*registryv1.ListToolsResponse, error)
}

// warn returns a warning for each agent that was accepted and will not work as it is: its model has no provider, or no tool fits one of its
// patterns. Both may still come, so neither is an error. Where neither can be found out, there is no warning.
func (s *Service) warn(ctx context.Context, docs []*Document, applied []Applied) {
	tools, known := s.toolNames(ctx, docs)
	for i, d := range docs {
		if d.Kind != Agent {
			continue
		}
		var said []string
		for _, m := range append([]string{d.Agent.GetModel()}, d.Agent.GetFallbacks()...) {
			if text := s.modelWarning(ctx, m); text != "" {
				said = append(said, text)
			}
		}
		if known {
			said = append(said, toolWarnings(d.Agent, docs, tools)...)
		}
		applied[i].Warning = strings.Join(said, "; ")
	}
}

func (s *Service) modelWarning(ctx context.Context, model string) string {
	if model == "" || placeholder.In(model) || s.deps.Models == nil {
		return ""
	}
	_, err := s.deps.Models.ResolveModel(ctx, &inferencev1.ResolveModelRequest{Model: model})
	if !fault.Is(err, faultv1.Reason_REASON_MODEL_UNKNOWN) {
		return ""
	}
	return fault.From(err).Message
}

// toolNames lists the tools that the caller may use. known is false if that is not to be found out, or no agent names any.
func (s *Service) toolNames(ctx context.Context, docs []*Document) (names []string, known bool) {
	if s.deps.Tools == nil || !slices.ContainsFunc(docs, func(d *Document) bool { return len(d.Agent.GetTools()) > 0 }) {
		return nil, false
	}
	for token := ""; ; {
		got, err := s.deps.Tools.ListTools(ctx, &registryv1.ListToolsRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return nil, false
		}
		for _, t := range got.GetTools() {
			names = append(names, t.GetName())
		}
		if token = got.GetNextPageToken(); token == "" {
			return names, true
		}
	}
}

// toolWarnings names the patterns that no tool fits. Tools of sources in the same bundle are not there yet in a dry run.
func toolWarnings(a *sessionsv1.Agent, docs []*Document, tools []string) []string {
	var said []string
	for _, pattern := range a.GetTools() {
		source, _, _ := strings.Cut(pattern, "__")
		switch {
		case placeholder.In(pattern), strings.Contains(pattern, ":"):
		case slices.ContainsFunc(docs, func(d *Document) bool { return d.Kind == Source && glob.Match(source, d.Source.GetName()) }):
		case slices.ContainsFunc(tools, func(name string) bool { return glob.Match(pattern, name) }):
		default:
			said = append(said, fmt.Sprintf("no tool fits %q", pattern))
		}
	}
	return said
}
