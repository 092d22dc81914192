package document

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestRangesHaveWholeCharacters(t *testing.T) {
	const text = "aé€𝄞b" // 1, 2, 3, 4 and 1 bytes, at 0, 1, 3, 6 and 10
	for start := range int64(len(text)) + 3 {
		for end := start; end <= int64(len(text)); end++ {
			from := max(start-3, 0)
			data := text[min(from, int64(len(text))):end]
			r := part(store.Text{Data: []byte(data), Start: from, Size: int64(len(text))}, start)
			if r.Start > start || r.End < r.Start || r.Text != text[r.Start:r.End] || string([]rune(r.Text)) != r.Text || r.End > max(end, r.Start) {
				t.Errorf("%d to %d: %+v", start, end, r)
			}
		}
	}
}
