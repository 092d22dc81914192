// Package monitoring has the dashboards and alerts of a mesh. docgen writes them to deploy/grafana and deploy/prometheus.
package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Dashboard is one page of panels.
type Dashboard struct {
	// ID is the name of its file and its address in Grafana; Title is what people read.
	ID, Title string
	Panels    []Panel
}

// Panel shows the values of queries over time.
type Panel struct {
	// Title names it, Help says what it means and what to do about it.
	Title, Help string
	// Unit is Grafana's: "short", "s", "ops", "percentunit", "bytes" or "currencyUSD".
	Unit string
	// Stat panels show the newest value only.
	Stat    bool
	Queries []Query
}

// Query is PromQL and how its series are called.
type Query struct{ Expr, Legend string }

// q returns a query.
func q(legend, format string, args ...any) Query {
	return Query{Expr: fmt.Sprintf(format, args...), Legend: legend}
}

// Sizes in the units of Grafana's grid, which is 24 wide.
const (
	columns                 = 24
	statWidth, statHeight   = 4, 4
	chartWidth, chartHeight = 12, 8
)

type object = map[string]any

// source is the variable with the data source, so that a dashboard works wherever it is loaded.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// JSON is the dashboard as Grafana loads it.
func (d Dashboard) JSON() ([]byte, error) {
	var panels []object
	x, y, height := 0, 0, 0
	for i, p := range d.Panels {
		width, tall := chartWidth, chartHeight
		if p.Stat {
			width, tall = statWidth, statHeight
		}
		if x+width > columns || tall != height && x > 0 {
			x, y = 0, y+height
		}
		height = tall
		panels = append(panels, p.object(i+1, object{"x": x, "y": y, "w": width, "h": tall}))
		x += width
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"uid": d.ID, "title": d.Title, "tags": []string{"windlass"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time": object{"from": "now-3h", "to": "now"}, "timezone": "browser", "panels": panels,
		"links": []object{{"type": "dashboards", "tags": []string{"windlass"}, "asDropdown": true, "title": "Windlass"}},
		"templating": object{"list": []object{{
			"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source",
		}}},
	})
	return out.Bytes(), err
}

func (p Panel) object(id int, at object) object {
	kind, options := "timeseries", object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}}
	if p.Stat {
		kind, options = "stat", object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value"}
	}
	var targets []object
	for i, query := range p.Queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "expr": query.Expr, "legendFormat": query.Legend, "datasource": source,
		})
	}
	return object{
		"id": id, "type": kind, "title": p.Title, "description": p.Help, "gridPos": at, "datasource": source, "targets": targets,
		"options": options, "fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []object{}},
	}
}
