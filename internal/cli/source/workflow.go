package source

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/internal/cli/app"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// workflowFlags adds the flags of sources whose tools are workflows.
func workflowFlags(f *pflag.FlagSet) {
	f.StringArray("workflow", nil, "Temporal workflow, as 'NAME=TYPE@TASK-QUEUE' or 'NAME@TASK-QUEUE'; with --temporal")
	f.String("temporal", "", "address of Temporal, as 'host:port'")
	f.String("temporal-namespace", "", `namespace of the workflows, empty = "default"`)
	f.Bool("temporal-tls", false, "connect to Temporal with TLS, which --bearer (an API key) requires")
	f.Bool("poll", false, "do not wait for workflows: a call starts one, and the tool NAME_result waits for its result")
}

// workflows sets where the workflows run, and their entries.
func (r reader) workflows() error {
	at := &registryv1.Temporal{Address: r.get("temporal"), Namespace: r.get("temporal-namespace")}
	if at.GetAddress() == "" {
		return app.Usage("--workflow needs --temporal, the address of Temporal")
	}
	at.Tls = r.get("temporal-tls") == "true"
	r.source.Kind, r.source.Temporal = "workflow", at
	for _, text := range r.list("workflow") {
		left, queue, ok := strings.Cut(text, "@")
		if !ok || left == "" || queue == "" {
			return app.Usage("--workflow is 'NAME=TYPE@TASK-QUEUE'")
		}
		name, kind, _ := strings.Cut(left, "=")
		w := &registryv1.Workflow{Name: name, TaskQueue: queue, WorkflowType: kind}
		if r.get("poll") == "true" {
			w.Mode = "poll"
		}
		r.source.Workflows = append(r.source.Workflows, w)
	}
	return nil
}

// onlyForWorkflows returns an error if a flag of workflows is set for another kind of source.
func (r reader) onlyForWorkflows() error {
	for _, name := range []string{"temporal", "temporal-namespace", "temporal-tls", "poll"} {
		if r.flags.Changed(name) {
			return app.Usage("--%s belongs to --workflow", name)
		}
	}
	return nil
}
