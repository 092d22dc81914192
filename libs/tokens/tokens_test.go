package tokens_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// The counts come from the public vocabularies o200k_base and cl100k_base, computed with the npm package gpt-tokenizer 3.
var samples = []struct {
	name         string
	newer, older int
	text         string
}{
	{
		"english", 51, 52,
		"The quick brown fox jumps over the lazy dog while the committee discusses next year's budget in a room without windows. Nobody had " +
			"expected the meeting to last so long, and most of the coffee was gone before the first item on the agenda came to an end.",
	},
	{
		"german", 50, 69,
		"Die Bundesregierung hat am Mittwoch einen Gesetzentwurf beschlossen, der die Genehmigungsverfahren für Windkraftanlagen " +
			"beschleunigen soll. Umweltverbände begrüßten das Vorhaben, warnten aber vor einer Überforderung der zuständigen Behörden.",
	},
	{
		"french", 50, 66,
		"Le gouvernement a présenté mercredi un projet de loi visant à accélérer les procédures d'autorisation des éoliennes. Les associations " +
			"écologistes ont salué cette décision, mais elles craignent que les services de l'État ne soient débordés.",
	},
	{
		"russian", 51, 96,
		"Правительство в среду представило законопроект, который должен ускорить выдачу разрешений на строительство ветряных электростанций. " +
			"Экологические организации приветствовали это решение, но предупредили о нагрузке на ведомства.",
	},
	{"chinese", 50, 86, "政府周三提出了一项法律草案，旨在加快风力发电设施的审批程序。环保组织对这一决定表示欢迎，但警告说有关部门可能不堪重负，因为近年来工作人员的数量没有增加。"},
	{"japanese", 65, 100, "政府は水曜日、風力発電施設の許可手続きを迅速化するための法案を発表した。環境団体はこの決定を歓迎したが、担当する役所の負担が大きくなりすぎることを懸念している。"},
	{"korean", 49, 98, "정부는 수요일에 풍력 발전 시설의 허가 절차를 빠르게 하기 위한 법안을 발표했다. 환경 단체들은 이 결정을 환영했지만 담당 기관의 부담이 너무 커질 것을 우려하고 있다."},
	{
		"arabic", 44, 112,
		"قدمت الحكومة يوم الأربعاء مشروع قانون يهدف إلى تسريع إجراءات الترخيص لمحطات طاقة الرياح. ورحبت المنظمات البيئية بالقرار، لكنها حذرت " +
			"من إرهاق السلطات المختصة.",
	},
	{
		"hindi", 41, 148,
		"सरकार ने बुधवार को एक विधेयक पेश किया जिसका उद्देश्य पवन ऊर्जा संयंत्रों की मंजूरी प्रक्रिया को तेज करना है। पर्यावरण संगठनों ने इस " +
			"फैसले का स्वागत किया।",
	},
	{
		"thai", 53, 115,
		"รัฐบาลได้เสนอร่างกฎหมายเมื่อวันพุธเพื่อเร่งรัดขั้นตอนการอนุญาตโรงไฟฟ้าพลังงานลม องค์กรสิ่งแวดล้อมต้อนรับการตัดสินใจครั้งนี้",
	},
	{
		"json", 112, 111,
		"{\"items\":[{\"id\":1042,\"name\":\"Widget, " +
			"large\",\"price_cents\":1999,\"in_stock\":true," +
			"\"tags\":[\"blue\",\"metal\"],\"created_at\":\"2026-03-04T05:06:07Z\"}," +
			"{\"id\":1043,\"name\":\"Widget, small\",\"price_cents\":899," +
			"\"in_stock\":false,\"tags\":[],\"created_at\":\"2026-03-05T10:11:12Z\"}],\"next_page_token\":\"eyJvZmZzZXQiOjUwfQ==\"}",
	},
	{
		"code", 120, 118,
		"func (s *Service) turn(ctx context.Context, id string) (store.Turn, store.Session, error) {\n\tif !known(id) {\n\t\treturn " +
			"store.Turn{}, store.Session{}, noTurn(id)\n\t}\n\tt, err := s.store.Turn(ctx, authn.Tenant(ctx), id)\n\tif err != nil {\n\t\treturn " +
			"store.Turn{}, store.Session{}, err\n\t}\n\tfor i := 0; i < len(t.Steps); i++ {\n\t\ttotal += t.Steps[i].Tokens\n\t}\n\treturn t, " +
			"ses, nil\n}\n",
	},
	{
		"hex", 96, 96,
		"3f7a9c0e5b1d8e6427ac91f0b3d5e7f92a4c6e8013579bdf02468ace13579bdf8e6427ac91f0b3d5e7f92a4c6e8013573f7a9c0e5b1d8e6427ac91f0b3d5e7f9",
	},
	{
		"base64", 81, 85,
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==kqz8Xv3LpT0wYb7Qd5NfJcRg2HsUeVmK",
	},
	{"numbers", 66, 66, "12.5 38.25 1024 99871 0.0031 -17.4 2026-11-20 13:39:48 192.168.10.254 8080 65535 3.14159 271828 1618033 4815162342"},
	{
		"log", 103, 103,
		"2026-11-20T13:39:48.123456Z INFO turn finished turn_id=trn_01jd5y8k3m session_id=ses_01jd5y8k2a steps=12 duration_ms=4821 " +
			"status=completed\n2026-11-20T13:39:49.004211Z WARN lease of a step lost, adopting turn=trn_01jd5y8k3m step=tool-3.1\n",
	},
	{
		"markdown", 76, 76,
		"## Results\n\n| tool | calls | p50 |\n|---|---|---|\n| `notes__add` | 12 | 3 ms |\n| `calculator__evaluate` | 40 | 1 ms |\n\n- " +
			"**Note:** the first call is slower, see [the page](https://example.com/docs/latency?x=1#first).\n",
	},
	{"emoji", 25, 35, "Great job team 🎉🎉🚀 we shipped it 😀👍🏽 on time ❤️ thanks a lot 🙏🙏"},
	{"spaces", 14, 14, "a        b        c\n\n\n\n        d        e\n                f\n"},
}

func TestAnEstimateIsSeldomTooLow(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			got := tokens.Text(s.text)
			t.Logf("estimate %d, o200k %d, cl100k %d", got, s.newer, s.older)
			if got*4 < max(s.newer, s.older)*3 {
				t.Errorf("estimate %d is more than a quarter below %d", got, max(s.newer, s.older))
			}
			if got > 2*max(s.newer, s.older) {
				t.Errorf("estimate %d is more than twice %d", got, max(s.newer, s.older))
			}
		})
	}
}

func TestWhatIsNoTextIsCountedToo(t *testing.T) {
	for text, least := range map[string]int{
		"": 0, "\xff\xfe\xfd": 1, "\x00\x01": 1, strings.Repeat("a", 600): 100, strings.Repeat(" ", 600): 30,
	} {
		if got := tokens.Text(text); got < least {
			t.Errorf("%.10q: %d, want %d at least", text, got, least)
		}
	}
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat(samples[0].text, 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tokens.Text(text)
	}
}

// TestLargeDocumentsCountMore: a document of a megabyte does not fit a small window.
func TestLargeDocumentsCountMore(t *testing.T) {
	of := func(size int64) int {
		return tokens.Message(&turnv1.Message{Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{
			MediaType: "application/pdf", Size: size,
		}}}}})
	}
	if small, large := of(1000), of(1<<20); small != tokens.PerImage+tokens.PerMessage || large < 20_000 {
		t.Errorf("%d and %d tokens", small, large)
	}
}
