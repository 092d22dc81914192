package ask

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A turn has the same texts checked with each of its steps, and again when a step is repeated: an answer is kept for some minutes.
const (
	answerAge  = 5 * time.Minute
	maxAnswers = 4096
)

// answers are those that one shield has got.
type answers struct {
	kept *lru.Cache[[sha256.Size]byte, kept]
}

type kept struct {
	answer Answer
	at     time.Time
}

func newAnswers() (*answers, error) {
	c, err := lru.New[[sha256.Size]byte, kept](maxAnswers)
	if err != nil {
		return nil, fmt.Errorf("answers of shields: %w", err)
	}
	return &answers{kept: c}, nil
}

func (a *answers) get(q Question, text string) (Answer, bool) {
	k, ok := a.kept.Get(key(q, text))
	return k.answer, ok && time.Since(k.at) < answerAge
}

func (a *answers) add(q Question, text string, answer Answer) {
	a.kept.Add(key(q, text), kept{answer, time.Now()})
}

// key is that of a text and who says it where. Turns are left out: they do not change what a text is.
func key(q Question, text string) [sha256.Size]byte {
	var all []byte
	for _, part := range []string{q.Stage, q.Tenant, q.Subject, q.AgentID, text} {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}
