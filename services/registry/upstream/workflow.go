package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/workflow"
)

// flows is what is kept in memory about sources whose tools are workflows.
type flows struct {
	client      *workflow.Client
	definitions Definitions
	actions     *lru.Cache[string, workflow.Action] // by tenant and hash of the definition
}

func newFlows(cfg Config, deps Deps) *flows {
	actions, err := lru.New[string, workflow.Action](operationsKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &flows{client: workflow.NewClient(deps.Egress, int(cfg.MaxResponseBytes)), definitions: deps.Definitions, actions: actions}
}

// Close closes the connections that are kept open. Calls after it open new ones.
func (u *Upstream) Close() { u.flows.client.Close() }

// discoverWorkflows makes tools of the workflows that are part of a source, if Temporal is there.
func (u *Upstream) discoverWorkflows(ctx context.Context, s store.Source) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.DiscoverTimeout)
	defer cancel()
	set, err := u.apis.credentials.For(owner(s))
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	version, err := u.flows.client.Probe(ctx, s, set.Authorize, set.Hide)
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	u.breakers.reached(s.ID)
	inv := store.Inventory{ServerVersion: version, ProtocolVersion: "Temporal"}
	var mistake error
	tools := workflow.Tools(s.Spec.Workflows, func(_ int, field, message string) {
		mistake = fault.Invalid("source.workflows."+field, "%s", message)
	})
	if mistake != nil {
		return store.Inventory{}, unreachable(s, mistake)
	}
	for _, t := range tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: t.Name, Description: t.Description, Raw: raw, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			Tags: t.Tags, Effect: t.Effect,
		})
	}
	return inv, nil
}

// action returns what a call of a definition does.
func (f *flows) action(ctx context.Context, tenant, hash string) (workflow.Action, error) {
	key := tenant + "/" + hash
	if a, ok := f.actions.Get(key); ok {
		return a, nil
	}
	found, err := f.definitions.Definitions(ctx, tenant, []string{hash})
	if err != nil {
		return workflow.Action{}, fmt.Errorf("read definition: %w", err)
	}
	if len(found) == 0 {
		return workflow.Action{}, fmt.Errorf("definition %s is not stored", hash)
	}
	var t workflow.Tool
	if err := json.Unmarshal(found[0].Raw, &t); err != nil {
		return workflow.Action{}, fmt.Errorf("decode definition %s: %w", hash, err)
	}
	f.actions.Add(key, t.Action)
	return t.Action, nil
}

// callWorkflow starts a workflow and waits for its result, or asks for the result of one.
func (u *Upstream) callWorkflow(ctx context.Context, r Request) (Reply, error) {
	action, err := u.flows.action(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	set, err := u.apis.credentials.For(owner(r.Source))
	if err != nil {
		return Reply{}, &Error{Kind: NotSent, Fault: fault.From(err)}
	}
	result, err := u.flows.client.Call(ctx, workflow.Call{
		Source: r.Source, Action: action, Args: r.Arguments, Key: r.Meta["windlass/idempotency_key"], Subject: r.By.Principal.GetSubject(),
		Timeout: u.CallTimeout(r.Source), Authorize: set.Authorize, Hide: set.Hide,
	})
	if err == nil {
		return Reply{Result: result}, nil
	}
	failure, ok := errors.AsType[*workflow.Error](err)
	if !ok {
		return Reply{}, &Error{Kind: InDoubt, Fault: fault.From(err)}
	}
	kind := map[workflow.Fate]Kind{workflow.NotSent: NotSent, workflow.InDoubt: InDoubt, workflow.TooLarge: TooLarge}[failure.Fate]
	return Reply{}, &Error{Kind: kind, Fault: failure.Fault}
}
