package rows

import "fmt"

// FlagColumn scans a boolean as both engines store it.
type FlagColumn struct{ To *bool }

// Scan implements sql.Scanner.
func (c FlagColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a flag is a %T", v)
	}
	*c.To = n != 0
	return nil
}
