package analytics

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

var answers = clitest.Answers{
	"GET /v1/analytics/tools?period=86400s&source=notes": {Body: `{"tools":[{"tool":"notes__list","source":"notes","calls":"4",` +
		`"errors":"1","error_rate":0.25,"cache_hits":"1","cache_hit_rate":0.5,"mean_latency_ms":1.25,"p95_latency_ms":9.5}]}`},
	"GET /v1/analytics/sessions": {Body: `{"total":"2","messages":"9","messages_per_session":4.5,"active_last_hour":"1"}`},
	"GET /v1/analytics/recent?limit=20": {Body: `{"executions":[{"id":"exe_1","tool":"notes__list","subject":"local","state":"done",` +
		`"latency_ms":3,"cache":"miss","input":"{\"text\":\"hi\"}","output":"two\nlines"}]}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "analytics tools --source notes",
			Out: "TOOL         CALLS  MEAN MS  P95 MS  CACHE HITS  ERRORS\n" +
				"notes__list  4      1.2      9.5     50.0%       25.0%\n",
		},
		{Args: "analytics tools --source notes -o name", Out: "notes__list\n"},
		{Args: "analytics tools --period 0", Code: 2, Err: []string{"--period"}},
		{
			Args: "analytics sessions",
			Out: "SESSIONS  MESSAGES  PER SESSION  ACTIVE IN THE LAST HOUR\n" +
				"2         9         4.5          1\n",
		},
		{
			Args: "analytics recent",
			Out: "AGE  TOOL         SUBJECT  STATE  MS  CACHE  INPUT          OUTPUT\n" +
				"     notes__list  local    done   3   miss   {\"text\":\"hi\"}  two lines\n",
		},
	})
}
