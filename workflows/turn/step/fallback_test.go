package step

import (
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestFallback has requests that a person would give to an agent with tools, and what the rules make of them.
func TestFallback(t *testing.T) {
	for _, row := range []struct{ request, want string }{
		{"Register a new Kubernetes cluster named production with API server https://k8s.example.com:6443", "react"},
		{"Show me all the registered clusters", "react"},
		{"Check the health of the production cluster", "react"},
		{"What was the last cluster I registered?", "react"},
		{"What's the weather like in London today?", "react"},
		{"Check how many pods are in the production cluster and which ones are not running", "react"},
		{"Find any pods in the staging cluster that have been restarting frequently and restart them", "react"},
		{"Should we deploy to the outdoor edge clusters today based on the weather forecast?", "react"},
		{"I need to migrate workloads from the staging cluster to production. Help me plan and execute this.", "plan"},
		{"Our production cluster is running out of resources. Analyze usage patterns and suggest optimization strategies.", "plan"},
		{"We have 5 microservices that need to be deployed across 3 clusters with specific affinity rules. Help me determine the optimal placement.", "plan"},
		{"What is a Kubernetes pod?", "direct"},
		{"What are the best practices for securing a Kubernetes cluster?", "direct"},
		{"What's the difference between a Deployment and a StatefulSet?", "direct"},
		{"First list the notes, then sum their amounts, and finally store the sum.", "plan"},
		{"Do this:\n1. list the notes\n2. count them", "plan"},
		{"Do this: 1. list the notes 2. count them", "plan"},
		{"- list the notes\n- count them", "plan"},
		{"List the notes step by step", "plan"},
		{"What is the meaning of our current error rate?", "react"},
		{"If it is late then tell me", "react"},
		{"", "react"},
	} {
		strategy, reason := fallback(row.request, 3, nil)
		if got := strings.ToLower(strings.TrimPrefix(strategy.String(), "STRATEGY_")); got != row.want || reason == "" {
			t.Errorf("%q: %s (%s), want %s", row.request, got, reason, row.want)
		}
		if strategy, _ := fallback(row.request, 0, nil); strategy != turnv1.Strategy_STRATEGY_DIRECT {
			t.Errorf("%q without tools: %v", row.request, strategy)
		}
	}
}

// TestFallbackWithAgents has an operator's requests to an agent that has specialists beside its tools.
func TestFallbackWithAgents(t *testing.T) {
	var agents []*sessionsv1.AgentTool
	for _, a := range [][2]string{
		{"registration", "Register a Kubernetes cluster: name, API server, credentials."},
		{"cluster-info", "Show all registered clusters and what is known of them."},
		{"health", "Check the health of a cluster and its nodes."},
		{"memory", "Remember what was done before, for example the last cluster that was registered."},
		{"weather", "Tell the weather and the forecast of a city."},
	} {
		agents = append(agents, &sessionsv1.AgentTool{AgentId: a[0], Name: "agent__" + a[0], Description: a[1]})
	}
	for _, row := range []struct{ request, want string }{
		{"Register a new Kubernetes cluster named production with API server https://k8s.example.com:6443", "route registration"},
		{"Show me all the registered clusters", "route cluster-info"},
		{"Check the health of the production cluster", "route health"},
		{"What was the last cluster I registered?", "route memory"},
		{"What's the weather like in London today?", "route weather"},
		{"Check how many pods are in the production cluster and which ones are not running", "react"},
		{"Find any pods in the staging cluster that have been restarting frequently and restart them", "react"},
		{"Should we deploy to the outdoor edge clusters today based on the weather forecast?", "react"},
		{"I need to migrate workloads from the staging cluster to production. Help me plan and execute this.", "plan"},
		{"Our production cluster is running out of resources. Analyze usage patterns and suggest optimization strategies.", "plan"},
		{"We have 5 microservices that need to be deployed across 3 clusters with specific affinity rules. Help me determine the optimal placement.", "plan"},
		{"What is a Kubernetes pod?", "direct"},
		{"What are the best practices for securing a Kubernetes cluster?", "direct"},
		{"What's the difference between a Deployment and a StatefulSet?", "direct"},
	} {
		strategy, _ := fallback(row.request, 3, agents)
		got := strings.ToLower(strings.TrimPrefix(strategy.String(), "STRATEGY_"))
		if got == "route" {
			got += " " + nearestAgent(row.request, agents).GetAgentId()
		}
		if got != row.want {
			t.Errorf("%q: %s, want %s", row.request, got, row.want)
		}
	}
}

func TestStrictJSON(t *testing.T) {
	for _, row := range []struct {
		text, want string
		ok         bool
	}{
		{text: `{"strategy":"plan","reason":"parts"}`, want: "STRATEGY_PLAN", ok: true},
		{text: "```json\n{\"strategy\":\"react\",\"reason\":\"\"}\n```", want: "STRATEGY_REACT", ok: true},
		{text: ` {"strategy":"direct"} `, want: "STRATEGY_DIRECT", ok: true},
		{text: `{"strategy":"route","reason":"x"}`, want: "STRATEGY_ROUTE", ok: true},
		{text: `{"strategy":"dance","reason":"x"}`},
		{text: `{"strategy":"plan","sure":true}`},
		{text: `{"strategy":"plan"} I think`},
		{text: `I think {"strategy":"plan"}`},
		{text: ``},
		{text: "```"},
		{text: `["plan"]`},
	} {
		got, _, err := readChoice(row.text)
		if (err == nil) != row.ok || row.ok && got.String() != row.want {
			t.Errorf("%q: %v, %v", row.text, got, err)
		}
	}
}

func TestReadPlan(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, row := range []struct {
		name, text, want string
		empty            bool
	}{
		{name: "titles and goals", text: `{"steps":[{"title":"a","goal":"b\nc"}]}`, want: "a/b c"},
		{name: "a goal gives a title", text: `{"steps":[{"goal":"b"}]}`, want: "b/b"},
		{name: "a title gives a goal", text: `{"steps":[{"title":"a"}]}`, want: "a/a"},
		{name: "long ones are cut", text: `{"steps":[{"title":"` + long + `","goal":"g"}]}`, want: long[:maxTitle-1] + "…/g"},
		{name: "nothing to do, at first", text: `{"steps":[]}`},
		{name: "nothing more to do", text: `{"steps":[]}`, empty: true, want: "none"},
		{name: "no list", text: `{}`, empty: true},
		{name: "a step that says nothing", text: `{"steps":[{"title":" "}]}`},
		{name: "too many steps", text: `{"steps":[` + strings.Repeat(`{"title":"a"},`, 10) + `{"title":"a"}]}`},
		{name: "a list alone", text: `[{"title":"a"}]`},
		{name: "prose", text: "First a, then b."},
	} {
		goals, err := readPlan(row.text, row.empty)
		var got []string
		for _, g := range goals {
			got = append(got, g.Title+"/"+g.Goal)
		}
		if err == nil && len(goals) == 0 {
			got = []string{"none"}
		}
		if strings.Join(got, " ") != row.want || (err == nil) != (row.want != "") {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
	}
}

func TestGaveUp(t *testing.T) {
	for text, want := range map[string]bool{
		"STEP FAILED: no": true, "**Step failed:** no": true, " step failed because": true, "The step failed": false, "": false,
	} {
		if gaveUp(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
