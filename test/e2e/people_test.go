package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestApprovers: several people decide, through REST, in a mesh of separate processes: ann starts turns, bob and eve are leads, carl is
// not.
func TestApprovers(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"policy": harness.JSON{"rules": []harness.JSON{
		{"name": "local", "subjects": []string{"local"}, "permissions": []string{"*"}, "tools": []string{"*"}},
		{"name": "staff", "roles": []string{"staff"}, "permissions": []string{"sessions.*"}, "tools": []string{"*"}},
	}}}})
	p := people{
		ann: m.As("ann", "staff", "lead"), bob: m.As("bob", "staff", "lead"), eve: m.As("eve", "staff", "lead"),
		carl: m.As("carl", "staff"), root: m.As("root", "staff", "admin"),
	}
	for id, rule := range map[string]harness.JSON{
		"by-role":  {"approver_roles": []string{"lead"}},
		"by-two":   {"approver_roles": []string{"lead"}, "quorum": 2},
		"by-admin": {},
	} {
		rule["name"], rule["tools"], rule["reason"] = id, []string{"mesh__uuid"}, "somebody else should look"
		m.Client.Must("POST", "/v1/agents", harness.JSON{
			"id": id, "tools": []string{"mesh__*"}, "model": "builtin/scripted",
			"approvals": []harness.JSON{rule},
		})
	}
	for name, test := range map[string]func(*testing.T, people){
		"the subject that started the turn may not decide": othersDecide,
		"a quorum is of people":                            twoDecide,
		"a refusal ends it":                                oneRefuses,
		"without a role it takes an admin":                 adminDecides,
		"a batch is of single decisions":                   batchDecides,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

type people struct{ ann, bob, eve, carl, root *harness.Client }

const once = "call:mesh__uuid {} then say:done"

// waiting starts a turn as ann, and returns it with the approval that it waits for.
func (p people) waiting(t *testing.T, agent string) (turn, approval string) {
	t.Helper()
	turn = p.ann.Turn(p.ann.Session(agent), once)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		now := p.ann.Must("GET", "/v1/turns/"+turn, nil)
		if ids, _ := now["waiting_for"].([]any); len(ids) == 1 {
			return turn, fmt.Sprint(ids[0])
		}
		if now["end_time"] != nil || t.Context().Err() != nil {
			t.Fatalf("the turn does not wait: %v", now)
		}
	}
	return "", ""
}

// decides returns status and body of what a decision is answered with.
func decides(t *testing.T, c *harness.Client, approval, decision string) (int, harness.JSON) {
	t.Helper()
	status, out, err := c.Do(t.Context(), "POST", "/v1/approvals/"+approval+":decide", harness.JSON{"decision": decision, "comment": "seen"})
	if err != nil {
		t.Fatal(err)
	}
	return status, out
}

// forbidden wants a decision refused, for a reason that names why and what to do.
func forbidden(t *testing.T, c *harness.Client, approval, why string) {
	t.Helper()
	status, out := decides(t, c, approval, "approve")
	if status != http.StatusForbidden || out.Str("code") != "permission_denied" || !strings.Contains(fmt.Sprint(out), why) {
		t.Errorf("answer %d %v, want it refused: %s", status, out, why)
	}
}

func mine(t *testing.T, c *harness.Client, approval string) bool {
	t.Helper()
	list, _ := c.Must("GET", "/v1/approvals?status=pending&page_size=1000", nil)["approvals"].([]any)
	return slices.ContainsFunc(list, func(a any) bool { return a.(map[string]any)["id"] == approval })
}

func othersDecide(t *testing.T, p people) {
	turn, approval := p.waiting(t, "by-role")
	forbidden(t, p.ann, approval, "ann began the turn, so another user must decide")
	if status, out := decides(t, p.carl, approval, "approve"); status != http.StatusNotFound {
		t.Errorf("without the role: %d %v", status, out)
	}
	forbidden(t, p.root, approval, `takes one of the roles ["lead"]`)
	if !mine(t, p.ann, approval) || !mine(t, p.bob, approval) || mine(t, p.carl, approval) {
		t.Error("the approval is listed for the wrong people")
	}
	if status, _, _ := p.bob.Do(t.Context(), "GET", "/v1/turns/"+turn, nil); status != http.StatusNotFound {
		t.Errorf("bob may decide, and sees the turn, too: %d", status)
	}
	if seen := p.bob.Must("GET", "/v1/approvals/"+approval, nil); seen.Str("requester") != "ann" || seen.Str("tool") != "mesh__uuid" {
		t.Errorf("bob sees %v", seen)
	}
	if status, out := decides(t, p.bob, approval, "approve"); status != http.StatusOK || out.Str("status") != "approved" {
		t.Errorf("bob: %d %v", status, out)
	}
	if end := p.ann.Wait(turn); end.Str("output") != "done" || end.Str("stop_reason") != "end" {
		t.Errorf("turn = %v", end)
	}
	if status, out := decides(t, p.eve, approval, "deny"); status != http.StatusConflict && status != http.StatusBadRequest ||
		out.Str("code") != "approval_resolved" {
		t.Errorf("after the decision: %d %v", status, out)
	}
}

func twoDecide(t *testing.T, p people) {
	turn, approval := p.waiting(t, "by-two")
	for range 2 { // the same person twice is one person
		if status, out := decides(t, p.bob, approval, "approve"); status != http.StatusOK || out.Str("status") != "pending" {
			t.Errorf("the first: %d %v", status, out)
		}
	}
	forbidden(t, p.ann, approval, "ann began the turn")
	if status, out := decides(t, p.eve, approval, "approve"); status != http.StatusOK || out.Str("status") != "approved" {
		t.Errorf("the second: %d %v", status, out)
	}
	if end := p.ann.Wait(turn); end.Str("output") != "done" {
		t.Errorf("turn = %v", end)
	}
}

func oneRefuses(t *testing.T, p people) {
	turn, approval := p.waiting(t, "by-two")
	decides(t, p.bob, approval, "approve")
	if status, out := decides(t, p.eve, approval, "deny"); status != http.StatusOK || out.Str("status") != "denied" {
		t.Errorf("eve: %d %v", status, out)
	}
	if end := p.ann.Wait(turn); end.Str("status") != "completed" || fieldOf(end, "usage", "tool_calls") == "2" {
		t.Errorf("turn = %v", end)
	}
}

func adminDecides(t *testing.T, p people) {
	turn, approval := p.waiting(t, "by-admin")
	forbidden(t, p.ann, approval, "ann began the turn")
	if status, out := decides(t, p.bob, approval, "approve"); status != http.StatusNotFound {
		t.Errorf("bob: %d %v", status, out)
	}
	if status, out := decides(t, p.root, approval, "approve"); status != http.StatusOK {
		t.Errorf("the admin: %d %v", status, out)
	}
	if end := p.ann.Wait(turn); end.Str("output") != "done" {
		t.Errorf("turn = %v", end)
	}
}

func batchDecides(t *testing.T, p people) {
	first, a := p.waiting(t, "by-role")
	second, b := p.waiting(t, "by-role")
	_, c := p.waiting(t, "by-admin")
	decisions := harness.JSON{"decisions": []harness.JSON{
		{"approval_id": a, "decision": "approve"},
		{"approval_id": b, "decision": "deny", "comment": "not now"},
		{"approval_id": c, "decision": "approve"},
	}}
	results, _ := p.bob.Must("POST", "/v1/approvals:decide", decisions)["results"].([]any)
	var got []string
	for _, r := range results {
		one := harness.JSON(r.(map[string]any))
		got = append(got, strings.Trim(fieldOf(one, "approval", "status")+" "+fieldOf(one, "error", "code"), " "))
	}
	if strings.Join(got, ", ") != "approved <nil>, denied <nil>, <nil> not_found" {
		t.Errorf("results %q: %v", got, results)
	}
	if end := p.ann.Wait(first); end.Str("output") != "done" {
		t.Errorf("the approved turn: %v", end)
	}
	if end := p.ann.Wait(second); end.Str("status") != "completed" || end["tools_used"] == nil {
		t.Errorf("the refused turn: %v", end)
	}
	results, _ = p.ann.Must("POST", "/v1/approvals:decide",
		harness.JSON{"decisions": []harness.JSON{{"approval_id": c, "decision": "approve"}}})["results"].([]any)
	if len(results) != 1 || fieldOf(results[0].(map[string]any), "error", "code") != "permission_denied" {
		t.Errorf("ann decides for herself: %v", results)
	}
}
