package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

type dashboard struct {
	Title  string `json:"title"`
	Panels []struct {
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// dashboards parses the queries of all panels and runs them over samples: each must have data. It returns how many there are.
func dashboards(dir, samples string) (panels, queries int, err error) {
	data, end, err := recorded(samples)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return 0, 0, fmt.Errorf("no dashboards in %s: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	var errs []error
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return 0, 0, err
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		for _, p := range d.Panels {
			panels++
			for _, t := range p.Targets {
				queries++
				if err := hasData(data, t.Expr, end); err != nil {
					errs = append(errs, fmt.Errorf("%s, %s: %w", d.Title, p.Title, err))
				}
			}
		}
	}
	return panels, queries, errors.Join(errs...)
}

// recorded loads two scrapes of a mesh, which are separated by a line "# next". They are repeated, so that rates over minutes
// have samples.
func recorded(path string) (_ *promqltest.LazyLoader, end time.Time, _ error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, end, err
	}
	first, second, ok := strings.Cut(string(raw), "# next\n")
	if !ok {
		return nil, end, fmt.Errorf("%s has one scrape, want two", path)
	}
	load, before := "load 15s\n", parse(first)
	for series, value := range parse(second) {
		old, ok := before[series]
		if !ok {
			old = value
		}
		load += fmt.Sprintf("  %s %sx10 %sx10\n", series, old, value)
	}
	data, err := promqltest.NewLazyLoader(load, options)
	if err != nil {
		return nil, end, err
	}
	end = time.Unix(0, 0).UTC().Add(5 * time.Minute)
	var loadErr error
	data.WithSamplesTill(end, func(err error) { loadErr = err })
	return data, end, loadErr
}

// parse reads the text format: series with the labels that a scrape adds, and their values.
func parse(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		series, value := line[:at], line[at+1:]
		if name, labels, ok := strings.Cut(series, "{"); ok {
			series = name + `{instance="mesh:8080", job="windlass", ` + labels
		} else {
			series += `{instance="mesh:8080", job="windlass"}`
		}
		out[strings.Replace(series, ", }", "}", 1)] = value
	}
	return out
}

// hasData runs a query at a time.
func hasData(data *promqltest.LazyLoader, expr string, at time.Time) error {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "4m")
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
		return err
	}
	query, err := data.QueryEngine().NewInstantQuery(context.Background(), data.Queryable(), nil, expr, at)
	if err != nil {
		return err
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil {
		return fmt.Errorf("%s: %w", expr, result.Err)
	}
	if v, ok := result.Value.(promql.Vector); ok && len(v) == 0 {
		return fmt.Errorf("%s has no data", expr)
	}
	return nil
}
