package assembly

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

// codec returns the codec of payloads in Temporal. The mesh's key decrypts also where there is a key for payloads: they may have been
// written before that was configured.
func (c TemporalConfig) codec(mesh secret.Value) (*temporal.Codec, error) {
	cfg := temporal.CodecConfig{
		Key: c.CodecKey, OldKeys: append([]secret.Value{}, c.OldCodecKeys...), Clear: !c.Encrypt, AcceptClear: c.AcceptClear,
	}
	if cfg.Key.IsZero() {
		cfg.Key = mesh
	} else {
		cfg.OldKeys = append(cfg.OldKeys, mesh)
	}
	codec, err := temporal.NewCodec(cfg)
	if err != nil {
		return nil, fmt.Errorf("temporal.codec_key, temporal.old_codec_keys: %w", err)
	}
	return codec, nil
}
