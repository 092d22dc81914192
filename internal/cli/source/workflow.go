package source

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/internal/cli/app"
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
func (r reader) workflows(list []string) error {
	at := map[string]any{"address": r.get("temporal")}
	if at["address"] == "" {
		return app.Usage("--workflow needs --temporal, the address of Temporal")
	}
	if namespace := r.get("temporal-namespace"); namespace != "" {
		at["namespace"] = namespace
	}
	if tls, err := r.flags.GetBool("temporal-tls"); err == nil && tls {
		at["tls"] = true
	}
	poll, _ := r.flags.GetBool("poll") // it is defined above
	var all []map[string]any
	for _, text := range list {
		left, queue, ok := strings.Cut(text, "@")
		if !ok || left == "" || queue == "" {
			return app.Usage("--workflow is 'NAME=TYPE@TASK-QUEUE'")
		}
		name, kind, _ := strings.Cut(left, "=")
		w := map[string]any{"name": name, "task_queue": queue}
		if kind != "" {
			w["workflow_type"] = kind
		}
		if poll {
			w["mode"] = "poll"
		}
		all = append(all, w)
	}
	r.body["kind"], r.body["temporal"], r.body["workflows"] = "workflow", at, all
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
