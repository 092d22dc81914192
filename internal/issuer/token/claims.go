package token

import (
	"encoding/json"
	"maps"
)

// MarshalJSON writes the extra claims beside the others, which win.
func (a Access) MarshalJSON() ([]byte, error) {
	type plain Access
	return merged(plain(a), a.Extra)
}

// MarshalJSON writes the extra claims beside the others, which win.
func (id ID) MarshalJSON() ([]byte, error) {
	type plain ID
	return merged(plain(id), id.Extra)
}

func merged(claims any, extra map[string]string) ([]byte, error) {
	raw, err := json.Marshal(claims)
	if err != nil || len(extra) == 0 {
		return raw, err
	}
	own := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	for k, v := range extra {
		if all[k], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	maps.Copy(all, own)
	return json.Marshal(all)
}
