package rules

import (
	"encoding/json"
	"os"
	"testing"
)

// TestChoose has requests that a person would give to an agent with tools.
func TestChoose(t *testing.T) {
	for _, row := range []struct{ request, want string }{
		{"First list the notes, then sum their amounts, and finally store the sum.", "plan"},
		{"Do this:\n1. list the notes\n2. count them", "plan"},
		{"Do this: 1. list the notes 2. count them", "plan"},
		{"- list the notes\n- count them", "plan"},
		{"List the notes step by step", "plan"},
		{"What is the meaning of our current error rate?", "react"},
		{"If it is late then tell me", "react"},
		{"", "react"},
	} {
		if got, reason := Choose(row.request, true, nil); got != row.want || reason == "" {
			t.Errorf("%q: %s (%s), want %s", row.request, got, reason, row.want)
		}
		if got, _ := Choose(row.request, false, nil); got != Direct {
			t.Errorf("%q without tools: %s", row.request, got)
		}
	}
}

// TestChooseForOperators has requests to an agent that looks after clusters: with tools alone, and with specialised agents beside them. The
// evaluation of models reads the same table.
func TestChooseForOperators(t *testing.T) {
	var table struct {
		Agents   []Agent
		Requests []struct {
			Request    string
			Alone      string
			WithAgents string `json:"with_agents"`
		}
	}
	raw, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(raw, &table)
	}
	if err != nil || len(table.Requests) == 0 {
		t.Fatal(err, len(table.Requests))
	}
	for _, row := range table.Requests {
		if got, reason := Choose(row.Request, true, nil); got != row.Alone || reason == "" {
			t.Errorf("%q: %s (%s), want %s", row.Request, got, reason, row.Alone)
		}
		got, _ := Choose(row.Request, true, table.Agents)
		if got == Route {
			got += " " + table.Agents[Nearest(row.Request, table.Agents)].ID
		}
		if got != row.WithAgents {
			t.Errorf("%q: %s, want %s", row.Request, got, row.WithAgents)
		}
	}
}
