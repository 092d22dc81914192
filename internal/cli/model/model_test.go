package model

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

var answers = clitest.Answers{
	"GET /v1/models?page_size=100": {Body: `{"models":[{"name":"openai/gpt","provider":"openai","default":true,` +
		`"supports_tools":true,"context_window":1000,"capabilities":{"input":["text","image"]}}],"next_page_token":""}`},
	"GET /v1/models:resolve?model=openai%2Fgpt": {Body: `{"name":"openai/gpt","capabilities":{"input":["text"],"max_images":3}}`},
	"POST /v1/models:explain": {Body: `{"targets":[{"model":"a/b","reason":"the agent's model"}],` +
		`"skipped":[{"model":"c/d","reason":"no provider has it"}]}`},
	"GET /v1/model-health?page_size=100": {Body: `{"entries":[{"name":"a/second","kind":"key","status":"cooling",` +
		`"until":"2026-01-15T09:30:00Z","failures":2,"reason":"a limits the rate of calls"}],"next_page_token":""}`},
	"POST /v1/model-health:reset": {Body: `{}`},
	"POST /v1/models:try": {Body: `{"model":"a/b","checks":[{"name":"text","outcome":"honoured","reason":"it answered ready",` +
		`"duration_ms":1234}]}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "model list", Out: "NAME        DEFAULT  TOOLS  CONTEXT  INPUT\nopenai/gpt  yes      yes    1000     text image\n"},
		{Args: "model get openai/gpt", Sent: "GET /v1/models:resolve?model=openai%2Fgpt"},
		{
			Args: "model explain support --modality image --size 60", Sent: `POST /v1/models:explain {"agent_id":"support","modalities":["image"],"size":"60"}`,
			Out: "ORDER  MODEL  REASON\n1      a/b    the agent's model\n-      c/d    no provider has it\n",
		},
		{
			Args: "model health", Out: "NAME      KIND  STATUS   UNTIL                 FAILURES  REASON\n" +
				"a/second  key   cooling  2026-01-15T09:30:00Z  2         a limits the rate of calls\n",
		},
		{Args: "model health reset a/second", Sent: `POST /v1/model-health:reset {"name":"a/second"}`, Out: "a/second is called again\n"},
		{
			Args: "model try a/b --check text", Sent: `POST /v1/models:try {"checks":["text"],"model":"a/b"}`,
			Out: "CHECK  OUTCOME   TIME  REASON\ntext   honoured  1.2s  it answered ready\n",
		},
	})
}
