package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/vault"
	"github.com/windlass-dev/windlass/services/policy/vault/kms"
)

// VaultConfig configures the store of secrets.
type VaultConfig struct {
	MasterKey     secret.Value   `yaml:"master_key" doc:"Secret of at least 32 characters from which the master key of stored secrets is derived; the same for all processes with the policy role. windlass up keeps its own in master.key. Empty: no secrets can be stored."`
	MasterKeyFile string         `yaml:"master_key_file" doc:"File with the master key, instead of master_key; only its owner may read it (mode 0600 or less)."`
	OldMasterKeys []secret.Value `yaml:"old_master_keys" doc:"Previous values of master_key. They decrypt the data keys, which are then encrypted with the master key of now."`
	KMS           string         `yaml:"kms" doc:"Master key in the transit engine of HashiCorp Vault or OpenBao, instead of master_key: hcvault://HOST:PORT/MOUNT/keys/NAME, reached over HTTPS. The key must support associated data, as aes256-gcm96 does."`
	OldKMS        string         `yaml:"old_kms" doc:"Previous value of kms. It only decrypts, with the same token."`
	KMSToken      secret.Value   `yaml:"kms_token" doc:"Token for kms, which may use the encrypt and decrypt paths of the key."`
	KMSTokenFile  string         `yaml:"kms_token_file" doc:"File with the token for kms, instead of kms_token, such as the sink of a Vault agent: read at each call, mode 0600 or less."`
}

// open returns the vault, whose newest master key is the given one if there is one, and whether it has any.
func (c VaultConfig) open(db *sqldb.DB, newest keyset.Master, network connection.Dialer) (v *vault.Vault, hasMaster bool, err error) {
	masters, err := c.masters(network)
	if err != nil {
		return nil, false, err
	}
	if newest != nil {
		masters = append([]keyset.Master{newest}, masters...)
	}
	v = vault.New(db, masters...)
	if err := v.Check(context.Background()); errors.Is(err, keyset.ErrAway) {
		return nil, false, fmt.Errorf("%w: start the service, and check the address and the token of policy.vault.kms", err)
	} else if err != nil {
		return nil, false, fmt.Errorf("policy.vault: %w", err)
	}
	return v, len(masters) > 0, nil
}

// masters returns the configured master keys, the newest first.
func (c VaultConfig) masters(network connection.Dialer) ([]keyset.Master, error) {
	newest := c.MasterKey
	switch {
	case !newest.IsZero() && c.MasterKeyFile != "":
		return nil, errors.New("policy.vault: set master_key or master_key_file, not both")
	case c.KMS != "" && (!newest.IsZero() || c.MasterKeyFile != ""):
		return nil, errors.New("policy.vault: set kms or a master key, not both: a previous master key belongs in old_master_keys")
	case c.MasterKeyFile != "":
		var err error
		if newest, err = secret.ReadFile(c.MasterKeyFile); err != nil {
			return nil, fmt.Errorf("policy.vault.master_key_file: %w", err)
		}
	case newest.IsZero() && c.KMS == "":
		if len(c.OldMasterKeys) > 0 || c.OldKMS != "" {
			return nil, errors.New("policy.vault.old_master_keys and old_kms only decrypt: set master_key or kms too")
		}
		return nil, nil
	}
	var out []keyset.Master
	if c.KMS != "" {
		m, err := c.remote(c.KMS, network)
		if err != nil {
			return nil, fmt.Errorf("policy.vault.kms: %w", err)
		}
		out = append(out, m)
	}
	local := c.OldMasterKeys
	if !newest.IsZero() {
		local = append([]secret.Value{newest}, local...)
	}
	for _, key := range local {
		m, err := keyset.Derive("vault master v1", key)
		if err != nil {
			return nil, fmt.Errorf("policy.vault.master_key, old_master_keys: %w", err)
		}
		out = append(out, m)
	}
	if c.OldKMS != "" {
		m, err := c.remote(c.OldKMS, network)
		if err != nil {
			return nil, fmt.Errorf("policy.vault.old_kms: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// remote returns a key in a key management service.
func (c VaultConfig) remote(uri string, network connection.Dialer) (keyset.Master, error) {
	if c.KMSToken.IsZero() == (c.KMSTokenFile == "") {
		return nil, errors.New("set kms_token or kms_token_file")
	}
	token := func() (secret.Value, error) { return c.KMSToken, nil }
	if c.KMSTokenFile != "" {
		token = func() (secret.Value, error) { return secret.ReadFile(c.KMSTokenFile) }
		if _, err := token(); err != nil {
			return nil, fmt.Errorf("kms_token_file: %w", err)
		}
	}
	if network == nil {
		return nil, errors.New("this process cannot reach a key management service")
	}
	return kms.New(uri, token, network.Client(egress.Options{Timeout: kms.Timeout, MaxResponseBytes: kms.MaxResponse}))
}
