package api

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// workflowsToProto sets the fields of a source whose tools are workflows.
func workflowsToProto(s store.Spec, p *registryv1.Source) {
	if t := s.Temporal; t != nil {
		p.Temporal = &registryv1.Temporal{Address: t.Address, Namespace: t.Namespace, Tls: t.TLS}
	}
	p.Agents = s.Agents
	for _, w := range s.Workflows {
		p.Workflows = append(p.Workflows, &registryv1.Workflow{
			Name: w.Name, Description: w.Description, WorkflowType: w.Type, TaskQueue: w.TaskQueue, Positional: w.Positional, Mode: w.Mode,
			WorkflowId: w.ID, ExecutionTimeoutSeconds: w.ExecutionTimeout, Tags: w.Tags, Effect: turnv1.EffectClass(w.Effect),
			InputSchema: structOf(w.InputSchema), OutputSchema: structOf(w.OutputSchema),
		})
	}
}

func temporalFromProto(p *registryv1.Temporal) *store.Temporal {
	if p == nil {
		return nil
	}
	return &store.Temporal{Address: p.GetAddress(), Namespace: p.GetNamespace(), TLS: p.GetTls()}
}

func workflowsFromProto(list []*registryv1.Workflow) []store.WorkflowTool {
	var out []store.WorkflowTool
	for _, p := range list {
		out = append(out, store.WorkflowTool{
			Name: p.GetName(), Description: p.GetDescription(), Type: p.GetWorkflowType(), TaskQueue: p.GetTaskQueue(),
			Positional: p.GetPositional(), Mode: p.GetMode(), ID: p.GetWorkflowId(), ExecutionTimeout: p.GetExecutionTimeoutSeconds(),
			Tags: p.GetTags(), Effect: store.Effect(p.GetEffect()),
			InputSchema: mapOf(p.GetInputSchema()), OutputSchema: mapOf(p.GetOutputSchema()),
		})
	}
	return out
}

// mapOf converts a JSON object; nil stays nil.
func mapOf(s *structpb.Struct) map[string]any {
	if s == nil {
		return nil
	}
	return canon.FromStruct(s)
}
