package membership_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/registry/membership"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// reader has groups and tools in memory, and counts how often groups are read.
type reader struct {
	groups map[string]store.GroupSpec
	tools  map[string]store.Effect
	reads  int
}

func (r *reader) Group(_ context.Context, _, name string) (store.Group, error) {
	r.reads++
	spec, ok := r.groups[name]
	if !ok {
		return store.Group{}, store.ErrNotFound
	}
	return store.Group{Name: name, Spec: spec}, nil
}

func (r *reader) Tools(_ context.Context, _ string, names []string) ([]store.Tool, error) {
	var out []store.Tool
	for _, n := range names {
		if e, ok := r.tools[n]; ok {
			out = append(out, store.Tool{Name: n, Effect: e})
		}
	}
	return out, nil
}

// needy is a policy that decides after it knows some groups: the tool must be in all of them.
type needy struct {
	policyv1.PolicyServiceClient
	needs []string
	calls int
	grow  bool
}

func (n *needy) ask(groups []*policyv1.ToolGroupMembers) (missing []string) {
	n.calls++
	if n.grow {
		return []string{fmt.Sprint("g", n.calls)}
	}
	for _, want := range n.needs {
		if !slices.ContainsFunc(groups, func(g *policyv1.ToolGroupMembers) bool { return g.GetGroup() == want }) {
			missing = append(missing, want)
		}
	}
	return missing
}

func (n *needy) DecideTool(_ context.Context, in *policyv1.DecideToolRequest, _ ...grpc.CallOption) (*policyv1.Decision, error) {
	if missing := n.ask(in.GetGroups()); missing != nil {
		return &policyv1.Decision{NeededGroups: missing}, nil
	}
	allowed := !slices.ContainsFunc(in.GetGroups(), func(g *policyv1.ToolGroupMembers) bool { return len(g.GetTools()) == 0 })
	return &policyv1.Decision{Allowed: allowed}, nil
}

func (n *needy) FilterTools(_ context.Context, in *policyv1.FilterToolsRequest, _ ...grpc.CallOption) (
	*policyv1.FilterToolsResponse, error,
) {
	if missing := n.ask(in.GetGroups()); missing != nil {
		return &policyv1.FilterToolsResponse{NeededGroups: missing}, nil
	}
	return &policyv1.FilterToolsResponse{Tools: in.GetGroups()[0].GetTools()}, nil
}

func TestEvaluate(t *testing.T) {
	r := &reader{
		groups: map[string]store.GroupSpec{
			"byname": {Selectors: []store.Selector{{Source: "a"}}, Exclude: []string{"*__delete"}},
			"byread": {Selectors: []store.Selector{{Effects: []store.Effect{1}}}, Tools: []string{"z__listed"}},
		},
		tools: map[string]store.Effect{"a__read": 1, "a__write": 3, "a__delete": 3},
	}
	got, err := membership.Evaluate(t.Context(), r, "default", []string{"byname", "none", "byread"},
		[]string{"a__read", "a__write", "a__delete", "a__gone", "z__listed"})
	var lines []string
	for _, g := range got {
		lines = append(lines, fmt.Sprintf("%s %t %s", g.GetGroup(), g.GetMissing(), strings.Join(g.GetTools(), ",")))
	}
	want := "byname false a__read,a__write,a__gone; none true ; byread false a__read,z__listed"
	if err != nil || strings.Join(lines, "; ") != want {
		t.Errorf("%s, %v", strings.Join(lines, "; "), err)
	}
}

// TestAChangedGroupAppliesToTheNextCall: the first call takes two requests, further ones take one, and all read the groups again.
func TestAChangedGroupAppliesToTheNextCall(t *testing.T) {
	r := &reader{groups: map[string]store.GroupSpec{"g": {Tools: []string{"a__b"}}}}
	p := &needy{needs: []string{"g"}}
	c, err := membership.New(p, r)
	if err != nil {
		t.Fatal(err)
	}
	decide := func() bool {
		t.Helper()
		d, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Principal: authn.Local(), Tool: "a__b"})
		if err != nil {
			t.Fatal(err)
		}
		return d.GetAllowed()
	}
	if !decide() || p.calls != 2 {
		t.Errorf("the first call takes %d requests", p.calls)
	}
	r.groups["g"] = store.GroupSpec{Exclude: []string{"*"}}
	if decide() || p.calls != 3 {
		t.Errorf("after a change of the group, %d requests", p.calls)
	}
	delete(r.groups, "g")
	if decide() {
		t.Error("after the deletion of the group")
	}
	r.groups["g"] = store.GroupSpec{Tools: []string{"a__b"}}
	f, err := c.FilterTools(t.Context(), &policyv1.FilterToolsRequest{Principal: authn.Local(), Tools: []string{"a__a", "a__b"}})
	if err != nil || strings.Join(f.GetTools(), " ") != "a__b" || p.calls != 5 {
		t.Errorf("filtered %v, %v, %d requests", f, err, p.calls)
	}
}

func TestPoliciesWithoutGroupsCostNothing(t *testing.T) {
	r, p := &reader{}, &needy{}
	c, err := membership.New(p, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Tool: "a__b"}); err != nil || p.calls != 1 || r.reads != 0 {
		t.Errorf("%d requests, %d reads, %v", p.calls, r.reads, err)
	}
}

func TestPoliciesThatChangeAllTheTime(t *testing.T) {
	c, err := membership.New(&needy{grow: true}, &reader{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Tool: "a__b"}); fault.CodeOf(err) != "unavailable" {
		t.Error(err)
	}
}
