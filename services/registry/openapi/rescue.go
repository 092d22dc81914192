package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// maxLoads bounds how often parts of a document are read to find those that cannot be.
const maxLoads = 400

// rescuer reads a document that cannot be read as a whole: without the operations that are to blame, and what only they refer to.
type rescuer struct {
	load    func(data []byte) (*openapi3.T, error)
	over    func() error // why there is no more time
	options Options
	root    map[string]any
	loads   int
	skipped []string
}

// place is where an operation is.
type place struct{ path, method string }

var methods = []string{"delete", "get", "head", "options", "patch", "post", "put", "query", "trace"}

// rescue returns the part of a document that can be read, and says which of the selected operations cannot be. The error is whole, that of
// the document as a whole, if there is no such part.
func rescue(ctx context.Context, data []byte, o Options, load func([]byte) (*openapi3.T, error), whole error,
) (*openapi3.T, []string, error) {
	root, err := tree(data)
	if err != nil {
		return nil, nil, whole
	}
	r := &rescuer{load: load, over: ctx.Err, options: o, root: root}
	for _, name := range []string{"paths", "components"} {
		withoutExtras(r.root[name], name == "paths")
	}
	all, selected := r.places()
	if len(all) == 0 || len(selected) == 0 {
		return nil, nil, whole
	}
	if err := tooMany(len(all), len(selected), o.Limits); err != nil {
		return nil, nil, err
	}
	good := r.readable(slices.DeleteFunc(selected, r.dangling))
	if ctx.Err() != nil || r.loads > maxLoads {
		return nil, nil, whole
	}
	if len(good) == 0 {
		return nil, nil, fmt.Errorf("no operation can be read: %s", r.skipped[0])
	}
	doc, err := r.read(good)
	if err != nil {
		return nil, nil, whole
	}
	slices.Sort(r.skipped)
	return doc, r.skipped, nil
}

// readable returns those of the places that can be read, and notes the others. It tries all at once, and halves what fails.
func (r *rescuer) readable(places []place) []place {
	if len(places) == 0 || r.over() != nil || r.loads > maxLoads {
		return nil
	}
	_, err := r.read(places)
	switch {
	case err == nil:
		return places
	case len(places) == 1:
		r.skip(places[0], err.Error())
		return nil
	}
	half := len(places) / 2
	return append(slices.Clone(r.readable(places[:half])), r.readable(places[half:])...)
}

func (r *rescuer) skip(p place, why string) {
	why = truncate.Bytes(strings.ToValidUTF8(why, "\uFFFD"), 300)
	r.skipped = append(r.skipped, fmt.Sprintf("%s %s: %s", strings.ToUpper(p.method), truncate.Bytes(p.path, 200), why))
}

// places returns all operations, and those that the filter selects.
func (r *rescuer) places() (all, selected []place) {
	paths := object(r.root["paths"])
	for _, path := range sortedKeys(paths) {
		item := object(paths[path])
		for _, method := range methods {
			raw, ok := item[method]
			if !ok {
				continue
			}
			p := place{path, method}
			all = append(all, p)
			op := &operation{path: path, method: strings.ToUpper(method), Operation: &openapi3.Operation{}}
			op.OperationID, _ = object(raw)["operationId"].(string)
			tags, _ := object(raw)["tags"].([]any)
			for _, tag := range tags {
				if text, ok := tag.(string); ok {
					op.Tags = append(op.Tags, text)
				}
			}
			if r.options.Filter.selects(path, nameOf(op), op.Operation) {
				selected = append(selected, p)
			}
		}
	}
	return all, selected
}

// dangling notes an operation that refers to something that is not there.
func (r *rescuer) dangling(p place) bool {
	c := r.closure([]place{p})
	if c.wrong != "" {
		r.skip(p, c.wrong)
	}
	return c.wrong != ""
}

// read reads the document with some of its operations, and what they refer to.
func (r *rescuer) read(places []place) (*openapi3.T, error) {
	r.loads++
	c := r.closure(places)
	if c.wrong != "" {
		return nil, errors.New(c.wrong)
	}
	part := maps.Clone(r.root)
	delete(part, "webhooks")
	part["paths"], part["components"] = c.paths, c.components
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	return r.load(text)
}

// tree decodes a document.
func tree(data []byte) (map[string]any, error) {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		if err := yaml.Unmarshal(data, &v); err != nil {
			return nil, err
		}
		v = plain(v)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	return root, nil
}

// plain converts what YAML has and JSON has not.
func plain(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[fmt.Sprint(key)] = plain(item)
		}
		return out
	case map[string]any:
		for key, item := range v {
			v[key] = plain(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plain(item)
		}
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}

// object returns a JSON object; nil for anything else.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// withoutExtras removes what tools are not made of, so that mistakes there do not matter: callbacks, links, and named examples. named means
// that the keys of v are names, and not keywords.
func withoutExtras(v any, named bool) {
	switch v := v.(type) {
	case map[string]any:
		if !named {
			delete(v, "callbacks")
			delete(v, "links")
			if _, ok := v["examples"].(map[string]any); ok {
				delete(v, "examples")
			}
			delete(v, "securitySchemes")
		}
		for key, item := range v {
			withoutExtras(item, !named && namesOf(key))
		}
	case []any:
		for _, item := range v {
			withoutExtras(item, false)
		}
	}
}

// tooMany returns the error of a document with too many operations.
func tooMany(all, selected int, l Limits) error {
	switch {
	case all > maxScanned*l.MaxOperations:
		return fmt.Errorf("the document has more than %d operations: split it", maxScanned*l.MaxOperations)
	case selected > l.MaxOperations:
		return fmt.Errorf("%d operations are selected, more than the limit of %d (registry.openapi.max_operations): select some of them "+
			"with a filter by tag, path or operation id", selected, l.MaxOperations)
	}
	return nil
}
