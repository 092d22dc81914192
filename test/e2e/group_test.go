package e2e

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestToolGroups gives an agent a tool group, changes the group, and removes it.
func TestToolGroups(t *testing.T) {
	t.Parallel()
	c := client(t)
	agent := harness.JSON{"id": "sums", "model": "builtin/scripted", "tools": []string{"group:sums"}}
	status, out, err := c.Do(t.Context(), "POST", "/v1/agents", agent)
	if err != nil || status != 400 || !strings.Contains(out.Str("message")+strings.Join(fields(out), " "), `tool group "sums"`) {
		t.Errorf("an agent with a group that is not there: %d %v %v", status, out, err)
	}
	group := c.Must("POST", "/v1/tool-groups", harness.JSON{
		"name": "sums", "selectors": []harness.JSON{{"source": "calc*", "name": "eval*"}}, "tools": []string{"mesh__uuid"},
	})
	if got := names(group["members"]); got != "calculator__evaluate mesh__uuid" {
		t.Errorf("members: %s", got)
	}
	c.Must("POST", "/v1/agents", agent)
	session := c.Session("sums")
	const sum = `call:calculator__evaluate {"expression":"2*3"}`
	if end := c.Wait(c.Turn(session, sum)); !strings.Contains(end.Str("output"), "6") {
		t.Errorf("a tool of the group: %v", end)
	}
	c.Must("PATCH", "/v1/tool-groups/sums", harness.JSON{"exclude": []string{"*__evaluate"}})
	turn := c.Turn(session, sum)
	w := c.Watch("/v1/turns/" + turn + "/events")
	c.Wait(turn)
	if told := w.UntilType("tool_call.completed"); told.Data.Str("code") != "not_found" {
		t.Errorf("a tool that the group excludes now: %v", told.Data)
	}
	why := c.Must("GET", "/v1/tool-groups/sums:explain?tool=calculator__evaluate", nil)
	if why["member"] != false || why.Str("cause") != "excluded" || why.Str("rule") != "exclude[0]" {
		t.Errorf("why it is not in: %v", why)
	}
	told, _ := run(t, 0, "", harness.Bin(t, "windlass"), "group", "explain", "sums", "mesh__uuid", "--server", c.Base)
	if told != "mesh__uuid is in sums: tools[0] lists it.\n" {
		t.Errorf("why it is in: %s", told)
	}
	c.Must("DELETE", "/v1/tool-groups/sums", nil)
	end := c.Wait(c.Turn(session, sum))
	problem, _ := end["error"].(map[string]any)
	if end.Str("status") != "failed" || !strings.Contains(harness.JSON(problem).Str("message"), `tool group "sums"`) {
		t.Errorf("a group that is gone: %v", end)
	}
}

// fields are the messages of the fields that an error names.
func fields(out harness.JSON) []string {
	var texts []string
	list, _ := out["fields"].([]any)
	for _, f := range list {
		if m, ok := f.(map[string]any); ok {
			texts = append(texts, harness.JSON(m).Str("field")+": "+harness.JSON(m).Str("message"))
		}
	}
	return texts
}

// names joins a list of names.
func names(list any) string {
	var out []string
	all, _ := list.([]any)
	for _, n := range all {
		text, _ := n.(string)
		out = append(out, text)
	}
	return strings.Join(out, " ")
}
