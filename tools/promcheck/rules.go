package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"
)

// testFile is the part of promtool's format that the tests use.
type testFile struct {
	Rules    []string       `yaml:"rule_files"`
	Interval model.Duration `yaml:"evaluation_interval"`
	Tests    []struct {
		Name     string         `yaml:"name"`
		Interval model.Duration `yaml:"interval"`
		Input    []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		Alerts []alertTest `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

type alertTest struct {
	At       model.Duration `yaml:"eval_time"`
	Name     string         `yaml:"alertname"`
	Expected []struct {
		Labels map[string]string `yaml:"exp_labels"`
	} `yaml:"exp_alerts"`
}

// ruleTests runs the tests in a file and returns how many there are.
func ruleTests(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var f testFile
	if err := yaml.Unmarshal(raw, &f); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	for i, name := range f.Rules {
		f.Rules[i] = filepath.Join(filepath.Dir(path), name)
	}
	var errs []error
	for _, t := range f.Tests {
		load := fmt.Sprintf("load %s\n", t.Interval)
		for _, s := range t.Input {
			load += fmt.Sprintf("  %s %s\n", s.Series, s.Values)
		}
		for _, a := range t.Alerts {
			if err := runAlert(f, load, a); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.Name, err))
			}
		}
	}
	return len(f.Tests), errors.Join(errs...)
}

// runAlert evaluates the rules until the time of a test, and compares which instances of its alert fire.
func runAlert(f testFile, load string, want alertTest) error {
	data, err := promqltest.NewLazyLoader(load, options)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(data.QueryEngine(), data.Storage()), AppendableV2: data.Storage(), Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: slog.New(slog.DiscardHandler), Parser: options.Parser,
	})
	groups, errs := manager.LoadGroups(time.Duration(f.Interval), labels.EmptyLabels(), "", nil, false, f.Rules...)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	// A recording must be evaluated before the alert that reads it.
	names := slices.Sorted(maps.Keys(groups))
	slices.Reverse(names)
	end := time.Unix(0, 0).UTC().Add(time.Duration(want.At))
	// No alert waits for longer than an hour, so the last two hours decide.
	for at := end.Add(-min(time.Duration(want.At), 2*time.Hour)); !at.After(end); at = at.Add(time.Duration(f.Interval)) {
		var loadErr error
		data.WithSamplesTill(at, func(err error) { loadErr = err })
		if loadErr != nil {
			return loadErr
		}
		for _, name := range names {
			groups[name].Eval(context.Background(), at)
			for _, r := range groups[name].Rules() {
				if r.LastError() != nil {
					return fmt.Errorf("%s at %v: %w", r.Name(), at, r.LastError())
				}
			}
		}
	}
	var firing []string
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			if r.Name() != want.Name {
				continue
			}
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					firing = append(firing, labels.NewBuilder(a.Labels).Del(labels.AlertName).Labels().String())
				}
			}
		}
	}
	var wanted []string
	for _, e := range want.Expected {
		wanted = append(wanted, labels.FromMap(e.Labels).String())
	}
	slices.Sort(firing)
	slices.Sort(wanted)
	if !slices.Equal(firing, wanted) {
		return fmt.Errorf("%s fires with %q, want %q", want.Name, firing, wanted)
	}
	return nil
}

// options are those of Prometheus without flags.
var options = promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{})}
