package main

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	opts, err := parseOptions(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.host != "127.0.0.1" || opts.port != 7233 || opts.uiPort != 8233 || opts.namespaces[0] != "default" ||
		opts.logLevel != slog.LevelWarn || opts.memoryLimit != 160<<20 {
		t.Errorf("defaults: %+v", opts)
	}
	opts, err = parseOptions(strings.Fields("--dynamic-config-value history.transferProcessorMaxPollRPS=7 "+
		"--dynamic-config-value system.enableEagerWorkflowStart=false --memory-limit 1GiB --log-level never"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.memoryLimit != 1<<30 || opts.logLevel != levelNever {
		t.Errorf("given: %+v", opts)
	}
	values := dynamicconfig.NewCollection(tuning(opts.dynamicConfig), nil)
	if got := dynamicconfig.TransferProcessorMaxPollRPS.Get(values)(); got != 7 {
		t.Errorf("the user's value lost: %d", got)
	}
	if dynamicconfig.EnableEagerWorkflowStart.Get(values)("default") {
		t.Error("the user's false lost")
	}
	if !dynamicconfig.MatchingEnableFairness.Get(values)("default", "turns", enums.TASK_QUEUE_TYPE_WORKFLOW).New {
		t.Error("tasks are not handed out fairly")
	}
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"extra":                                       "unexpected argument",
		"--port 70000":                                "no port",
		"--port 5000 --ui-port 5000":                  "both 5000",
		"--ip not.an.address.invalid":                 "no address",
		"--search-attribute Name":                     "not name=type",
		"--search-attribute Name=Blob":                "none of Keyword",
		"--search-attribute WindlassAgent=Int":        "Keyword already",
		"--dynamic-config-value no.such.key=1":        "no.such.key",
		"--dynamic-config-value matching.rps=\"abc\"": "matching.rps",
		"--memory-limit much":                         "160MiB",
		"--memory-limit 99999999999GiB":               "no size",
		"--log-level loud":                            "none of debug",
		"--log-format xml":                            "neither text nor json",
	} {
		if _, err := parseOptions(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", args, err, want)
		}
	}
}
