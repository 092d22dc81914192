package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestARouteAppliesToTheNextTurn creates a route while a turn is in its first model call: that turn keeps its model, and the next one
// follows the route, until it is changed.
func TestARouteAppliesToTheNextTurn(t *testing.T) {
	t.Parallel()
	asked, created := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(created) })
	defer release()
	model := harness.NewModel(t, func(n int, _ []any) harness.Answer {
		if n > 1 {
			return harness.Answer{Words: []string{whole}}
		}
		answer := harness.Answer{Calls: []harness.Call{{ID: "call_1", Tool: "mesh__uuid"}}}
		answer.Stop = func(_ int, done <-chan struct{}) {
			close(asked)
			select {
			case <-created:
			case <-done:
			}
		}
		return answer
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "routed", "model": "openai/first", "tools": []string{"mesh__uuid"}})
	running := c.Turn(c.Session("routed"), "hello")
	<-asked
	made := c.Must("POST", "/v1/routes", harness.JSON{
		"name": "second", "when": `agent == "routed"`, "targets": []harness.JSON{{"model": "openai/second"}, {"model": "openai/third"}},
	})
	next := c.Turn(c.Session("routed"), "hello")
	route, revision, models := followed(c, next)
	if route != "second" || revision == "" || !slices.Equal(models, []string{"openai/second"}) {
		t.Errorf("the next turn: route %q, revision %q, models %v", route, revision, models)
	}
	release()
	if route, _, models := followed(c, running); route != "" || !slices.Equal(models, []string{"openai/first", "openai/first"}) {
		t.Errorf("the running turn: route %q, models %v", route, models)
	}
	explained := c.Must("POST", "/v1/models:explain", harness.JSON{"agent_id": "routed"})
	if explained["route"] != "second" || explained["route_origin"] != "api" || explained["revision"] != revision {
		t.Errorf("explained as %v", explained)
	}
	c.Must("PATCH", "/v1/routes/second", harness.JSON{"targets": []harness.JSON{{"model": "openai/third"}}, "revision": made["revision"]})
	route, changed, models := followed(c, c.Turn(c.Session("routed"), "hello"))
	if route != "second" || changed == revision || !slices.Equal(models, []string{"openai/third"}) {
		t.Errorf("after a change: route %q, revision %q, models %v", route, changed, models)
	}
	refused(t, c, http.MethodPatch, "/v1/routes/second", harness.JSON{"disabled": true, "revision": made["revision"]}).
		check(t, expect{status: http.StatusConflict, code: "conflict"})
	audited(t, c, "inference.routes.create", "inference.routes.update")
}

// followed waits for the end of a turn, and returns its route and revision, and the models that answered.
func followed(c *harness.Client, turn string) (route, revision string, models []string) {
	c.Wait(turn)
	for _, e := range c.Watch("/v1/turns/" + turn + "/events").End() {
		switch e.Type {
		case "turn.started":
			route, revision = e.Data.Str("route"), e.Data.Str("route_revision")
		case "step.finished":
			made, _ := e.Data["model_attempts"].([]any)
			for _, a := range made {
				attempt, _ := a.(map[string]any)
				name, _ := attempt["model"].(string)
				models = append(models, name)
			}
		}
	}
	return route, revision, models
}

// audited checks that the audit trail has the actions.
func audited(t *testing.T, c *harness.Client, actions ...string) {
	t.Helper()
	var found []string
	for _, r := range list(c.Must("GET", "/v1/audit?page_size=100", nil), "records") {
		found = append(found, r.Str("action"))
	}
	for _, a := range actions {
		if !slices.Contains(found, a) {
			t.Errorf("the audit trail lacks %s: it has %s", a, strings.Join(found, " "))
		}
	}
}
