// Package membership tells policy which tools are in the tool groups that its access policies name. Groups belong to the registry; policy
// names those it needs, and they are read from the database for each decision, so that a changed group applies to the next call.
package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// attempts limits how often a request is repeated while policies change.
	attempts = 5
	// tenantsKept and hintAge limit what is remembered of the groups that policy asked for.
	tenantsKept = 1024
	hintAge     = time.Minute
	// toolsAtOnce is the number of tools read at a time.
	toolsAtOnce = 1000
)

// Reader reads groups and tools.
type Reader interface {
	Group(ctx context.Context, tenant, name string) (store.Group, error)
	Tools(ctx context.Context, tenant string, names []string) ([]store.Tool, error)
}

// Members are the members of groups.
type Members = []*policyv1.ToolGroupMembers

// Evaluate returns which of the tools are in which groups now.
func Evaluate(ctx context.Context, r Reader, tenant string, groups, tools []string) (Members, error) {
	out := make(Members, len(groups))
	specs := make([]store.GroupSpec, len(groups))
	byName := true
	for i, name := range groups {
		out[i] = &policyv1.ToolGroupMembers{Group: name}
		g, err := r.Group(ctx, tenant, name)
		if errors.Is(err, store.ErrNotFound) {
			out[i].Missing = true
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read tool group: %w", err)
		}
		specs[i] = g.Spec
		byName = byName && g.Spec.ByNameAlone()
	}
	for part := range slices.Chunk(tools, toolsAtOnce) {
		found := map[string]store.Tool{}
		if !byName {
			read, err := r.Tools(ctx, tenant, part)
			if err != nil {
				return nil, fmt.Errorf("read tools: %w", err)
			}
			for _, t := range read {
				found[t.Name] = t
			}
		}
		for i, spec := range specs {
			for _, name := range part {
				if !out[i].GetMissing() && holds(spec, name, found) {
					out[i].Tools = append(out[i].Tools, name)
				}
			}
		}
	}
	return out, nil
}

// holds reports whether a tool is in a group. One that is not there has no effect, labels or tags that a selector could match.
func holds(spec store.GroupSpec, name string, found map[string]store.Tool) bool {
	if spec.ByNameAlone() {
		return spec.MayHold(name)
	}
	if t, ok := found[name]; ok {
		return spec.Holds(t)
	}
	return spec.RuleByName(name).Field == store.FieldTools
}

// Client is a client of policy that adds the members of groups to requests. It is safe for concurrent use.
type Client struct {
	policyv1.PolicyServiceClient
	reader Reader
	hints  *lru.Cache[string, hint]
}

// hint is the groups that policy asked for lately, which are sent at once the next time.
type hint struct {
	groups []string
	until  time.Time
}

// New returns a client over another.
func New(policy policyv1.PolicyServiceClient, r Reader) (*Client, error) {
	hints, err := lru.New[string, hint](tenantsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of tool groups: %w", err)
	}
	return &Client{PolicyServiceClient: policy, reader: r, hints: hints}, nil
}

// DecideTool implements policyv1.PolicyServiceClient.
func (c *Client) DecideTool(ctx context.Context, in *policyv1.DecideToolRequest, opts ...grpc.CallOption) (*policyv1.Decision, error) {
	var out *policyv1.Decision
	err := c.supply(ctx, in.GetPrincipal().GetTenant(), []string{in.GetTool()}, func(groups Members) ([]string, error) {
		in.Groups = groups
		var err error
		out, err = c.PolicyServiceClient.DecideTool(ctx, in, opts...)
		return out.GetNeededGroups(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// FilterTools implements policyv1.PolicyServiceClient.
func (c *Client) FilterTools(ctx context.Context, in *policyv1.FilterToolsRequest, opts ...grpc.CallOption) (
	*policyv1.FilterToolsResponse, error,
) {
	var out *policyv1.FilterToolsResponse
	err := c.supply(ctx, in.GetPrincipal().GetTenant(), in.GetTools(), func(groups Members) ([]string, error) {
		in.Groups = groups
		var err error
		out, err = c.PolicyServiceClient.FilterTools(ctx, in, opts...)
		return out.GetNeededGroups(), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// supply repeats a request with the groups that policy needs, until it needs no others.
func (c *Client) supply(ctx context.Context, tenant string, tools []string, ask func(Members) ([]string, error)) error {
	known, _ := c.hints.Get(tenant)
	groups := known.groups
	if time.Now().After(known.until) {
		groups = nil
	}
	for range attempts {
		found, err := Evaluate(ctx, c.reader, tenant, groups, tools)
		if err != nil {
			return err
		}
		needed, err := ask(found)
		if err != nil || len(needed) == 0 {
			return err
		}
		groups = append(slices.Clone(groups), needed...)
		slices.Sort(groups)
		groups = slices.Compact(groups)
		c.hints.Add(tenant, hint{groups, time.Now().Add(hintAge)})
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "access policies change all the time").Hint("Try again.")
}
