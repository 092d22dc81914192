package turn

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

func TestSteerAndResolve(t *testing.T) {
	clitest.Run(t, root, clitest.Answers{
		"POST /v1/turns/trn_1:steer":   {Body: `{"turn_id":"trn_1","message_id":"msg_1","seq":7}`},
		"POST /v1/turns/trn_1:resolve": {Body: `{"id":"apr_4","kind":"resolution","status":"not_done"}`},
	}, []clitest.Case{
		{
			Words: []string{"turn", "steer", "trn_1", "not", "that"},
			Out:   "turn_id     trn_1\nmessage_id  msg_1\nseq         7\n",
			Sent:  `POST /v1/turns/trn_1:steer {"input":"not that"}`,
		},
		{
			Words: []string{"turn", "resolve", "trn_1", "c1", "not_done", "--comment", "looked"},
			Out:   "apr_4 not_done\n",
			Sent:  `POST /v1/turns/trn_1:resolve {"call_id":"c1","comment":"looked","outcome":"not_done"}`,
		},
	})
}
