// Package config fills a configuration struct from defaults, a YAML file, the environment and command-line flags, in this order, and
// rejects unknown keys.
//
// Struct fields are named by their yaml tag (without it: the field's name in snake_case; "-" hides a field, ",inline" merges an
// embedded struct), described by their doc tag and preset by their default tag, see Default. Fields may be structs, maps with string keys,
// slices, pointers, strings, numbers, booleans, time.Duration ("30s"), Size ("1MiB"), anything that reads text (encoding.TextUnmarshaler),
// and mappings that read themselves (Node).
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// delim joins path elements. It cannot occur in a key, unlike the dot, which is in host names.
const delim = "\x1f"

// Options are the sources of a configuration.
type Options struct {
	// Defaults is a struct, or a pointer to one, of the type that Into points to. Nil means the present value of Into.
	Defaults any
	// File is the path of a YAML file; empty means none. A path that does not exist is an error.
	File string
	// EnvPrefix is the prefix of our variables, for example "WINDLASS_". Empty means that the environment is not read.
	EnvPrefix string
	// EnvAllow lists variables with the prefix that are valid though they are not keys of the struct. A trailing * matches any suffix.
	EnvAllow []string
	// Environ is the environment in the form of os.Environ. Nil means os.Environ().
	Environ []string
	// Flags that were set on the command line override everything. A flag is a key if FlagKeys maps it, or if its name is a key's path with -
	// for _; other flags are ignored. Nil means none.
	Flags *pflag.FlagSet
	// FlagKeys maps flag names to key paths, for example "http-addr" to "gateway.http_addr".
	FlagKeys map[string]string
	// KeepReferences leaves ${env:NAME} in texts as it is, for a configuration that is shown. References in other values are still replaced.
	KeepReferences bool
	// Into is a pointer to the struct to fill. Required.
	Into any
}

// Load fills Into. It reports all mistakes at once, joined; each is an *Error with the key and its file and line, variable or flag. On
// error Into is unchanged.
func Load(opts Options) error {
	target := reflect.ValueOf(opts.Into)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("load configuration: Into is %T, want a pointer to a struct", opts.Into)
	}
	l := &loader{root: schemaOf(target.Type().Elem()), values: map[string]any{}, origins: map[string]origin{}, opts: opts}
	if l.opts.Environ == nil {
		l.opts.Environ = os.Environ()
	}
	result := reflect.New(target.Type().Elem())
	result.Elem().Set(target.Elem())
	if opts.Defaults != nil {
		defaults := reflect.Indirect(reflect.ValueOf(opts.Defaults))
		if defaults.Type() != result.Elem().Type() {
			return fmt.Errorf("load configuration: Defaults is %s, want %s", defaults.Type(), result.Elem().Type())
		}
		result.Elem().Set(defaults)
	}
	l.file()
	l.env()
	l.flags()
	if len(l.errs) == 0 {
		l.decode(result.Elem(), l.root, l.values, nil)
	}
	if len(l.errs) > 0 {
		return fmt.Errorf("load configuration: %w", errors.Join(l.errs...))
	}
	target.Elem().Set(result.Elem())
	return nil
}

// Error is one mistake in a configuration.
type Error struct {
	// Key is the dotted path, for example "sessions.database_url" or "providers[2].url".
	Key string
	// Origin is "file.yaml:12", "environment variable X", or "flag --x".
	Origin string
	// Problem says what is wrong and what is expected.
	Problem string
}

// Error returns origin, key and problem in one line.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Origin, e.Key, e.Problem) }

// origin is where a value comes from.
type origin struct {
	text   string
	secret bool // expanded from the environment: never printed
}

// loader merges layers and remembers where each path was last set.
type loader struct {
	opts    Options
	root    *node
	values  map[string]any
	origins map[string]origin
	errs    []error
}

func (l *loader) fail(path []string, from, format string, args ...any) {
	l.errs = append(l.errs, &Error{Key: dotted(path), Origin: from, Problem: fmt.Sprintf(format, args...)})
}

// merge puts a layer over values: mappings are merged, everything else is replaced. The layer's mappings are copied.
func merge(values, layer map[string]any) {
	for key, value := range layer {
		above, mapping := value.(map[string]any)
		if !mapping {
			values[key] = value
			continue
		}
		below, ok := values[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			values[key] = below
		}
		merge(below, above)
	}
}

// set stores one value in a layer by its path.
func set(layer map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := layer[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			layer[key] = next
		}
		layer = next
	}
	layer[path[len(path)-1]] = value
}

// originOf returns the origin of a path, or of the nearest enclosing one.
func (l *loader) originOf(path []string) origin {
	for i := len(path); i > 0; i-- {
		if o, ok := l.origins[strings.Join(path[:i], delim)]; ok {
			return o
		}
	}
	return origin{text: "configuration"}
}

// dotted formats a path for people; list indexes are already in brackets.
func dotted(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}
