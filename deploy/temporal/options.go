package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

const defaultNamespace = "default"

// windlassAttributes exist in every namespace that this server creates. They make turns searchable in the Temporal UI.
var windlassAttributes = map[string]enumspb.IndexedValueType{
	"WindlassAgent":   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"WindlassSession": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"WindlassStatus":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"WindlassTenant":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
}

// options is the parsed command line.
type options struct {
	host, uiHost     string
	codecEndpoint    string // empty: the UI shows payloads as they are stored
	port, uiPort     int
	tls              certificateFiles
	headless         bool
	dbFile           string // empty: in memory
	namespaces       []string
	searchAttributes map[string]enumspb.IndexedValueType
	dynamicConfig    dynamicconfig.ConfigValueMap
	logLevel         slog.Level
	logJSON          bool
	memoryLimit      int64 // bytes, 0: none
	memoryLimitSet   bool
	exitWithParent   bool
	version          bool
}

// parseOptions parses the flags. It writes help, if requested, to usage.
func parseOptions(args []string, usage io.Writer) (options, error) {
	opts := options{
		searchAttributes: maps.Clone(windlassAttributes),
		logLevel:         slog.LevelWarn,
		memoryLimit:      defaultMemoryLimit,
	}
	flags := newFlagSet(&opts)
	flags.SetOutput(io.Discard) // it would print each error before returning it
	// The Temporal SDK's test suite starts any dev server as `PROGRAM server start-dev FLAGS`.
	if len(args) >= 2 && args[0] == "server" && args[1] == "start-dev" {
		args = args[2:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(usage, "Usage: windlass-temporal [flags]")
			flags.SetOutput(usage)
			flags.PrintDefaults()
		}
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	return opts.complete()
}

func newFlagSet(opts *options) *flag.FlagSet {
	f := flag.NewFlagSet("windlass-temporal", flag.ContinueOnError)
	f.StringVar(&opts.host, "ip", "127.0.0.1", "`address` of the frontend")
	f.IntVar(&opts.port, "port", 7233, "`port` of the frontend, 0 picks a free one")
	f.StringVar(&opts.uiHost, "ui-ip", "", "`address` of the web UI (default: as --ip)")
	f.IntVar(&opts.uiPort, "ui-port", 8233, "`port` of the web UI, 0 picks a free one")
	// The variable is that of Temporal's own UI image; a parent sets it where an older program would refuse the flag.
	f.StringVar(&opts.codecEndpoint, "ui-codec-endpoint", os.Getenv("TEMPORAL_CODEC_ENDPOINT"),
		"`URL` at which the web UI has encrypted payloads decoded (default: TEMPORAL_CODEC_ENDPOINT)")
	f.StringVar(&opts.tls.cert, "tls-cert", "",
		"PEM `file` with a certificate; with it all ports, the UI's too, accept only clients with one of --tls-ca")
	f.StringVar(&opts.tls.key, "tls-key", "", "PEM `file` with its key")
	f.StringVar(&opts.tls.ca, "tls-ca", "",
		"PEM `file` with the authorities of clients, and of --tls-cert; files are read again when they change")
	f.StringVar(&opts.tls.serverName, "tls-server-name", "", "`name` in --tls-cert by which the parts of the server know each other")
	f.BoolVar(&opts.headless, "headless", false, "no web UI")
	f.StringVar(&opts.dbFile, "db-filename", "", "SQLite `file`; without it everything is lost at exit")
	f.Func("namespace", "`name` of a namespace to have; may be repeated (default \"default\")", opts.addNamespace)
	f.Func("search-attribute", "`name=type` of a further search attribute; may be repeated", opts.addSearchAttribute)
	f.Func("dynamic-config-value", "`key=value` of Temporal's dynamic configuration, the value in JSON; may be repeated",
		opts.addDynamicConfig)
	f.Func("log-level", "debug, info, warn, error or never (default warn)", opts.setLogLevel)
	f.Func("log-format", "text or json (default text)", opts.setLogFormat)
	f.Func("memory-limit", "soft `limit` such as 160MiB, or off (default 160MiB)", opts.setMemoryLimit)
	f.BoolVar(&opts.exitWithParent, "exit-with-parent", false, "end at once when stdin is closed, that is, when the parent is gone")
	f.BoolVar(&opts.version, "version", false, "print the version and exit")
	return f
}

// complete sets defaults that depend on other flags and validates what the flag package cannot.
func (o options) complete() (options, error) {
	if o.uiHost == "" {
		o.uiHost = o.host
	}
	if err := o.tls.check(); err != nil {
		return options{}, err
	}
	if len(o.namespaces) == 0 {
		o.namespaces = []string{defaultNamespace}
	}
	for name, host := range map[string]*string{"ip": &o.host, "ui-ip": &o.uiHost} {
		resolved, err := net.ResolveIPAddr("ip", *host)
		if err != nil {
			return options{}, fmt.Errorf("--%s: %q is no address of this machine", name, *host)
		}
		*host = resolved.String() // the server accepts only addresses, people write localhost
	}
	for name, port := range map[string]int{"port": o.port, "ui-port": o.uiPort} {
		if port < 0 || port > 65535 {
			return options{}, fmt.Errorf("--%s: %d is no port", name, port)
		}
	}
	if u, err := url.Parse(o.codecEndpoint); o.codecEndpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return options{}, fmt.Errorf("--ui-codec-endpoint: %q is no http URL", o.codecEndpoint)
	}
	if o.port != 0 && o.port == o.uiPort && !o.headless {
		return options{}, fmt.Errorf("--port and --ui-port are both %d", o.port)
	}
	return o, nil
}

func (o *options) addNamespace(name string) error {
	if name == "" {
		return errors.New("a namespace needs a name")
	}
	o.namespaces = append(o.namespaces, name)
	return nil
}

func (o *options) addSearchAttribute(pair string) error {
	name, kind, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is not name=type", pair)
	}
	valueType, err := enumspb.IndexedValueTypeFromString(kind)
	if err != nil || valueType == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return fmt.Errorf("%q is none of Keyword, KeywordList, Text, Int, Double, Bool, Datetime", kind)
	}
	if have, ok := o.searchAttributes[name]; ok && have != valueType {
		return fmt.Errorf("%s is %s already", name, have)
	}
	o.searchAttributes[name] = valueType
	return nil
}

func (o *options) addDynamicConfig(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not key=value", pair)
	}
	// Temporal's own loader knows every key and its type; JSON is YAML too.
	loader := dynamicconfig.YamlLoader{Map: o.dynamicConfig}
	loader.LoadValue(dynamicconfig.MakeKey(key), []byte("- value: "+value))
	if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
		return err
	}
	o.dynamicConfig = loader.Map
	return nil
}
