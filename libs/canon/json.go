package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON is an object that encoding/json reads with every number as it is written: as json.Number.
type JSON map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *JSON) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode((*map[string]any)(o)); err != nil {
		return fmt.Errorf("decode object: %w", err)
	}
	return nil
}
