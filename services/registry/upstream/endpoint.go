package upstream

import (
	"encoding/json"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/endpoint"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// discoverEndpoints makes tools of the endpoints that are part of a source. It sends nothing.
func (u *Upstream) discoverEndpoints(s store.Source) (store.Inventory, error) {
	var inv store.Inventory
	for _, e := range s.Spec.Endpoints {
		t, err := endpoint.New(s.Spec.BaseURL, e)
		if err != nil {
			return store.Inventory{}, unreachable(s, fault.Invalid("endpoints", "%s", err))
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema,
			OutputSchema: t.OutputSchema, Tags: t.Tags, Deprecated: t.Deprecated, Effect: effectOf(t.Template.Method),
		})
	}
	return inv, nil
}
