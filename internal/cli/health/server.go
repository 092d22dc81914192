package health

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/libs/enum"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// server is the server that is checked.
type server struct{ client *client.Client }

func (s server) checkServer(ctx context.Context) []Finding {
	status, _, err := s.client.Probe(ctx, "/healthz")
	switch {
	case err != nil:
		return []Finding{failed("server", err)}
	case status != http.StatusOK:
		return []Finding{{
			"server", Broken, fmt.Sprintf("%s answers /healthz with %d", s.client.Server(), status),
			"Check the address in --server or WINDLASS_SERVER: something else may serve there.",
		}}
	}
	return []Finding{{Check: "server", Outcome: OK, Detail: s.client.Server()}}
}

// checkReady reports each readiness check of the server.
func (s server) checkReady(ctx context.Context) []Finding {
	status, body, err := s.client.Probe(ctx, "/readyz")
	if err != nil {
		return []Finding{failed("readiness", err)}
	}
	var answer struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
		Causes map[string]struct {
			Cause  string `json:"cause"`
			Action string `json:"action"`
		} `json:"causes"`
	}
	broken := json.Unmarshal(body, &answer) != nil
	if !broken && len(answer.Checks) == 0 && answer.Status != "" { // the details are for those with the permission health.get
		f := Finding{"readiness", OK, answer.Status, ""}
		if answer.Status != "ready" {
			f.Outcome, f.Todo = Broken, "Log in as somebody with the permission health.get, and run 'windlass doctor' again."
		}
		return []Finding{f}
	}
	if broken || len(answer.Checks) == 0 {
		return []Finding{{"readiness", Broken, fmt.Sprintf("/readyz answers %d and names no check", status), "Look at the server's log."}}
	}
	var out []Finding
	for name, state := range answer.Checks {
		f := Finding{Check: name, Outcome: OK, Detail: state}
		if state != "ok" {
			why := answer.Causes[name]
			f.Outcome, f.Detail, f.Todo = Broken, cmp.Or(why.Cause, state), why.Action
		}
		if state == "degraded" {
			f.Outcome = Warning
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.Check, b.Check) })
	return out
}

func (s server) checkModels(ctx context.Context) Finding {
	items, _, err := s.client.List(ctx, &inferencev1.ListModelsRequest{}, nil, 0)
	if err != nil {
		return failed("models", err)
	}
	var providers []string
	var answers *inferencev1.Model
	for _, raw := range items {
		m := &inferencev1.Model{}
		if err := codec.UnmarshalKnown(raw, m); err != nil {
			return failed("models", err)
		}
		if !slices.Contains(providers, m.GetProvider()) {
			providers = append(providers, m.GetProvider())
		}
		if m.GetDefault() {
			answers = m
		}
	}
	switch {
	case answers == nil:
		return Finding{
			"models", Broken, "no default model",
			"Set WINDLASS_MODEL=provider/model for the server, or configure inference.providers.",
		}
	case answers.GetProvider() == "builtin":
		return Finding{
			"models", Warning, answers.GetName() + " answers where an agent names no model: scripted, no AI",
			"Set OPENAI_API_KEY or ANTHROPIC_API_KEY for the server, or run Ollama, and start it again.",
		}
	}
	return Finding{Check: "models", Outcome: OK, Detail: fmt.Sprintf("%s answers where an agent names no model; there are %d of %s",
		answers.GetName(), len(items), strings.Join(providers, ", "))}
}

func (s server) checkAgents(ctx context.Context) Finding {
	items, more, err := s.client.List(ctx, &sessionsv1.ListAgentsRequest{}, nil, 100)
	switch {
	case err != nil:
		return failed("agents", err)
	case len(items) == 0:
		return Finding{"agents", Warning, "there is none", "Create one: windlass apply -f agent.yaml"}
	case more:
		return Finding{Check: "agents", Outcome: OK, Detail: "more than 100"}
	}
	return Finding{Check: "agents", Outcome: OK, Detail: fmt.Sprint(len(items))}
}

func (s server) checkSources(ctx context.Context) []Finding {
	items, _, err := s.client.List(ctx, &registryv1.ListSourcesRequest{}, nil, 0)
	if err != nil {
		return []Finding{failed("sources", err)}
	}
	var out []Finding
	for _, raw := range items {
		var source registryv1.Source
		if err := codec.UnmarshalKnown(raw, &source); err != nil {
			return append(out, failed("sources", err))
		}
		out = append(out, sourceFinding(&source))
	}
	if len(items) == 0 {
		out = append(out, Finding{"sources", Warning, "there is none, so agents have no tools", "Add one: windlass source create NAME --url URL"})
	}
	return out
}

func sourceFinding(s *registryv1.Source) Finding {
	f := Finding{Check: "source " + s.GetName(), Outcome: OK, Detail: fmt.Sprintf("%d tools", s.GetToolCount())}
	switch {
	case s.GetDisabled():
		f.Detail = "disabled"
	case s.GetState() != registryv1.SourceState_SOURCE_STATE_READY:
		f.Outcome, f.Detail = Broken, enum.Name(s.GetState())+": "+s.GetLastError()
		f.Todo = "Start the tool server, or correct the source; then: windlass source sync " + s.GetName()
		if s.GetState() == registryv1.SourceState_SOURCE_STATE_INVALID {
			f.Todo = "The server answers: correct the source, or what the server returns; then: windlass source sync " + s.GetName()
		}
	}
	return f
}

func failed(check string, err error) Finding {
	text, todo, _ := strings.Cut(app.Explain(err), "\n")
	return Finding{check, Broken, text, strings.TrimSpace(todo)}
}
