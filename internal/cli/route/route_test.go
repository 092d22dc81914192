package route

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const pro = `{"name":"pro","when":"size > 10","targets":[{"model":"a/b:8b","weight":3},{"model":"c/d"}],"origin":"api","revision":2}`

var answers = clitest.Answers{
	"GET /v1/routes?page_size=100": {Body: `{"routes":[` + pro + `,{"name":"all","targets":[{"model":"c/d"}],"priority":-1,` +
		`"origin":"configuration"}],"next_page_token":""}`},
	"GET /v1/routes/pro": {Body: pro},
	"POST /v1/routes":    {Body: pro},
	"PATCH /v1/routes/pro?update_mask=disabled%2Ctargets": {Body: pro},
	"DELETE /v1/routes/pro":                               {Body: `{}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, clitest.Nouns(Noun()), answers, []clitest.Case{
		{Args: "route list", Out: "NAME  ORIGIN         PRIORITY  DISABLED  TARGETS       WHEN\n" +
			"pro   api            0         no        a/b:8b=3,c/d  size > 10\n" +
			"all   configuration  -1        no        c/d\n"},
		{Args: "route get pro", Sent: "GET /v1/routes/pro"},
		{
			Args: "route create pro --when size>10 --target a/b:8b=3 --target c/d --description d --switch-on-filter",
			Sent: `POST /v1/routes {"description":"d","name":"pro","switch_on_filter":true,` +
				`"targets":[{"model":"a/b:8b","weight":3},{"model":"c/d"}],"when":"size>10"}`,
			Out: "route pro created, revision 2; it applies to the next turn\n",
		},
		{
			Args: "route update pro --target c/d --disabled=false",
			Sent: `PATCH /v1/routes/pro?update_mask=disabled%2Ctargets {"targets":[{"model":"c/d"}]}`,
			Out:  "route pro updated, revision 2; it applies to the next turn\n",
		},
		{Args: "route delete pro", Sent: "DELETE /v1/routes/pro", Out: "route pro deleted\n"},
	})
}
