package plan

import (
	"strings"
	"testing"
)

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
