package monitoring

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// runbooks is the page with a section for each alert.
const runbooks = "https://github.com/windlass-dev/windlass/blob/main/docs/how-to/runbooks.md#"

// written is the first line of generated files.
const written = "# Written by internal/docgen from internal/monitoring. Do not edit: run 'go generate ./internal/docgen'.\n"

// RulesFile is the name of the file of Rules, which tests name.
const RulesFile = "windlass.rules.yaml"

// Names of the groups of rules.
const objectivesGroup, alertsGroup = "windlass-objectives", "windlass-alerts"

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type group struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

func (a Alert) annotations() map[string]string {
	return map[string]string{"summary": a.Summary, "runbook_url": runbooks + strings.ToLower(a.Name)}
}

// Rules are recording rules and alerts as Prometheus loads them.
func Rules() ([]byte, error) {
	objectives, alerts := group{Name: objectivesGroup}, group{Name: alertsGroup}
	for _, r := range Recordings() {
		objectives.Rules = append(objectives.Rules, rule{Record: r.Record, Expr: r.Expr})
	}
	for _, a := range Alerts() {
		alerts.Rules = append(alerts.Rules, rule{
			Alert: a.Name, Expr: a.Expr, For: a.For, Labels: map[string]string{"severity": a.Severity}, Annotations: a.annotations(),
		})
	}
	return encode(map[string]any{"groups": []group{objectives, alerts}})
}

type inputSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type expected struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

type alertTest struct {
	At       string     `yaml:"eval_time"`
	Name     string     `yaml:"alertname"`
	Expected []expected `yaml:"exp_alerts,omitempty"`
}

type test struct {
	Name     string        `yaml:"name"`
	Interval string        `yaml:"interval"`
	Input    []inputSeries `yaml:"input_series"`
	Alerts   []alertTest   `yaml:"alert_rule_test"`
}

// RuleTests are promtool's tests of the alerts: each fires and does not.
func RuleTests() ([]byte, error) {
	var tests []test
	for _, a := range Alerts() {
		labels := map[string]string{"severity": a.Severity}
		maps.Copy(labels, a.Labels)
		tests = append(tests, a.test("fires", a.Firing, []expected{{labels, a.annotations()}}), a.test("is quiet", a.Quiet, nil))
	}
	return encode(map[string]any{
		"rule_files": []string{RulesFile}, "evaluation_interval": "1m", "tests": tests,
		"group_eval_order": []string{objectivesGroup, alertsGroup}, // alerts read what objectives record
	})
}

func (a Alert) test(what string, series []Series, want []expected) test {
	t := test{
		Name: fmt.Sprintf("%s %s", a.Name, what), Interval: "1m",
		Alerts: []alertTest{{At: "6h", Name: a.Name, Expected: want}},
	}
	for _, s := range series {
		t.Input = append(t.Input, inputSeries{Series: s.Name, Values: s.Values})
	}
	return t
}

func encode(v any) ([]byte, error) {
	out := bytes.NewBufferString(written)
	e := yaml.NewEncoder(out)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}
