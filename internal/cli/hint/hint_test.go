package hint

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestCallsOfTheAPIBecomeCommands(t *testing.T) {
	for rest, want := range map[string]string{
		"Read GET /openapi.json.":                                  "Read 'windlass --help'.",
		"List them with GET /v1/agents.":                           "List them with 'windlass agent list'.",
		"See GET /v1/turns/trn_1.":                                 "See 'windlass turn get trn_1'.",
		"GET /v1/turns?session_id=ses_1&status=running":            "'windlass turn list --session ses_1 --status running'",
		`Create one with POST /v1/agents {"id": "a"} first.`:       "Create one with 'windlass apply FILE' first.",
		"POST /v1/sessions":                                        "'windlass session create'",
		"DELETE /v1/webhooks/whk_1":                                "'windlass webhook delete whk_1'",
		"PATCH /v1/budgets/bgt_1":                                  "'windlass budget update bgt_1'",
		"POST /v1/sources/notes:sync":                              "'windlass source sync notes'",
		"POST /v1/turns/trn_1:cancel or POST /v1/turns/trn_1:tree": "'windlass turn cancel trn_1' or 'windlass turn tree trn_1'",
		`POST /v1/approvals/apr_1:decide {"decision":"approve"}`:   "'windlass decide apr_1'",
		"POST /v1/approvals/apr_1:answer":                          "'windlass decide apr_1'",
		"POST /v1/turns/trn_1:resolve":                             "'windlass approval list --kind resolution --turn trn_1'",
		"GET /v1/access-policies/p":                                "'windlass policy get p'",
		"POST /v1/tool-groups":                                     "'windlass group create'",
		"GET /v1/tool-cache?period=3600s":                          "GET /v1/tool-cache?period=3600s",
		"Wait a minute.":                                           "Wait a minute.",
		"GET /healthz":                                             "GET /healthz",
	} {
		e := fault.New(codes.NotFound, faultv1.Reason_REASON_UNSPECIFIED, "%s", rest).Hint("%s", rest)
		if err := Commands(e); !errors.Is(err, e) {
			t.Errorf("%s: another error: %v", rest, err)
		}
		testwant.Equal(t, "the hint "+rest, e.Todo, want)
		testwant.Equal(t, "the message "+rest, e.Message, want)
	}
}

func TestErrorsOfOthersStay(t *testing.T) {
	plain := errors.New("GET /v1/agents")
	if err := Commands(plain); !errors.Is(err, plain) || err.Error() != "GET /v1/agents" {
		t.Errorf("a plain error became %v", err)
	}
	if err := Commands(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
