package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// namesAtOnce is the number of names read and checked at a time.
const namesAtOnce = 1000

// groupPrefix marks a group among an agent's tools.
const groupPrefix = "group:"

// catalog reads the tools of a tenant, and asks policy which of them a principal may use.
type catalog struct {
	store interface {
		store.ToolStore
		store.GroupStore
	}
	policy policyv1.PolicyServiceClient
}

// fitting returns the names of matching tools of enabled sources, by name.
func (c catalog) fitting(ctx context.Context, tenant string, wanted func(tool string) bool) ([]string, error) {
	var out []string
	for after := ""; ; {
		names, err := c.store.ToolNames(ctx, tenant, "", after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		for _, n := range names {
			if wanted(n) {
				out = append(out, n)
			}
		}
		if len(names) < namesAtOnce {
			return out, nil
		}
		after = names[len(names)-1]
	}
}

// visible returns at most limit names of tools that the principal may use, after the given name.
func (c catalog) visible(ctx context.Context, p *policyv1.Principal, source, after string, limit int) ([]string, error) {
	var seen []string
	for len(seen) < limit {
		names, err := c.store.ToolNames(ctx, p.GetTenant(), source, after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		allowed, err := c.allowed(ctx, p, names)
		if err != nil {
			return nil, err
		}
		seen = append(seen, allowed...)
		if len(names) < namesAtOnce {
			break
		}
		after = names[len(names)-1]
	}
	return seen[:min(len(seen), limit)], nil
}

// allowed returns those of the named tools that the principal may use.
func (c catalog) allowed(ctx context.Context, p *policyv1.Principal, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	resp, err := c.policy.FilterTools(ctx, &policyv1.FilterToolsRequest{Principal: p, Tools: names})
	if err != nil {
		return nil, fmt.Errorf("ask policy: %w", err)
	}
	return resp.GetTools(), nil
}

// usable reads a tool, if it exists, its source is enabled, and the principal may use it. The other cases look alike.
func (c catalog) usable(ctx context.Context, p *policyv1.Principal, name string) (store.Tool, bool, error) {
	if strings.Contains(name, "\x00") {
		return store.Tool{}, false, nil
	}
	found, err := c.store.Tools(ctx, p.GetTenant(), []string{name})
	if err != nil {
		return store.Tool{}, false, fmt.Errorf("read tool: %w", err)
	}
	if len(found) == 0 || found[0].Source.Disabled {
		return store.Tool{}, false, nil
	}
	allowed, err := c.allowed(ctx, p, []string{name})
	return found[0], len(allowed) == 1, err
}

// listed parses an agent's list of tools. It returns FAILED_PRECONDITION for an unknown group.
func (c catalog) listed(ctx context.Context, tenant string, globs []string) (toolList, error) {
	var list toolList
	for _, g := range globs {
		name, isGroup := strings.CutPrefix(g, groupPrefix)
		if !isGroup {
			list.globs = append(list.globs, g)
			continue
		}
		group, err := c.store.Group(ctx, tenant, name)
		if errors.Is(err, store.ErrNotFound) {
			return list, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
				"the agent names the tool group %q, which does not exist", name).
				Hint("Create the group, or take it from the agent's tools.")
		}
		if err != nil {
			return list, fmt.Errorf("read tool group: %w", err)
		}
		list.groups = append(list.groups, group.Spec)
	}
	return list, nil
}

// standing keeps the names that the list contains, and reads the tools if their names are not enough.
func (c catalog) standing(ctx context.Context, tenant string, list toolList, names []string) ([]string, error) {
	if list.byName() || len(names) == 0 {
		return names, nil
	}
	tools, err := c.store.Tools(ctx, tenant, names)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	var out []string
	for _, t := range tools {
		if list.has(t) {
			out = append(out, t.Name)
		}
	}
	return out, nil
}
