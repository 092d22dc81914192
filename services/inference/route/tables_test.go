package route_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/route"
	"github.com/windlass-dev/windlass/services/inference/store"
)

// database has routes of one tenant, and may be away.
type database struct {
	now   store.Snapshot
	away  error
	reads int
}

func (d *database) Revision(context.Context, string) (uint64, error) { return d.now.Revision, d.away }

func (d *database) Snapshot(context.Context, string) (store.Snapshot, error) {
	d.reads++
	return d.now, d.away
}

// put replaces the routes by one.
func (d *database) put(name, when, model string) {
	d.now.Revision++
	d.now.Routes = []store.Route{{
		Tenant: "acme", Name: name, Revision: 1, Spec: store.Spec{When: when, Targets: []store.Target{{Model: model}}},
	}}
}

func TestStoredRoutesAreReadWhenTheyChange(t *testing.T) {
	t.Parallel()
	db := &database{}
	configured := []route.Config{{Name: "configured", When: `agent == "b"`, Targets: to("builtin/scripted"), Default: true}}
	r, err := route.NewResolver(configured, route.Deps{
		Models: inferencetest.Catalog(t, catalog.Config{}), Stored: db, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	chosen := func(agent string) (string, error) {
		c, err := r.Resolve(t.Context(), route.Turn{Agent: agent, Principal: &policyv1.Principal{Tenant: "acme"}, Modalities: []string{"text"}})
		return c.Route, err
	}
	want := func(what, agent, name string, reads int) {
		t.Helper()
		if got, err := chosen(agent); err != nil || got != name || db.reads != reads {
			t.Errorf("%s: route %q after %d reads, %v; want %q after %d", what, got, db.reads, err, name, reads)
		}
	}
	db.away = errors.New("away")
	if _, err := chosen("a"); !errors.Is(err, db.away) {
		t.Errorf("routes that were never read: %v", err)
	}
	db.away = nil
	want("no stored routes", "a", "", 1)
	want("no change", "a", "", 1)
	db.put("one", "", "builtin/scripted")
	want("a change", "b", "one", 2)
	db.away = errors.New("away")
	db.put("two", "", "builtin/scripted")
	want("away", "b", "one", 2)
	db.away = nil
	want("back", "a", "two", 3)
	db.put("three", "of an older version(", "builtin/scripted")
	want("a route that does not compile", "a", "", 4)
	want("the others apply", "b", "configured", 4)
	db.now = store.Snapshot{Revision: db.now.Revision + 1}
	want("no routes any more", "b", "configured", 5)
}

func TestTheRevisionIsThatOfTheRoutes(t *testing.T) {
	t.Parallel()
	table, err := route.New([]route.Config{{Name: "configured", Targets: to("a/b")}})
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*store.Route)) string {
		t.Helper()
		r := store.Route{Name: "one", Spec: store.Spec{Targets: []store.Target{{Model: "a/b"}}}}
		change(&r)
		out, broken, err := table.With([]store.Route{r})
		if err != nil || len(broken) > 0 {
			t.Fatal(broken, err)
		}
		return out.Revision()
	}
	plain := with(func(*store.Route) {})
	if with(func(r *store.Route) { r.Spec.Description, r.Revision = "x", 7 }) != plain {
		t.Error("it changes with the description")
	}
	if with(func(r *store.Route) { r.Spec.Disabled = true }) != table.Revision() {
		t.Error("a disabled route changes it")
	}
	for name, change := range map[string]func(*store.Route){
		"name":      func(r *store.Route) { r.Name = "two" },
		"condition": func(r *store.Route) { r.Spec.When = "size > 1" },
		"target":    func(r *store.Route) { r.Spec.Targets[0].Weight = 1 },
		"filter":    func(r *store.Route) { r.Spec.SwitchOnFilter = true },
	} {
		if got := with(change); got == plain || got == table.Revision() {
			t.Errorf("it does not change with the %s", name)
		}
	}
}
