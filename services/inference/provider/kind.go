package provider

import (
	"net/http"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Kind is a kind of provider: the API that it speaks. Each kind is a package below this one; package catalog has the table of them.
type Kind interface {
	// Traits returns the properties of the kind. It is constant.
	Traits() Traits
	// New returns a provider. It reads no environment and does not connect. Built-in kinds ignore cfg.
	New(cfg Config) (Provider, error)
}

// Traits are the properties of a kind that are needed before there is a provider.
type Traits struct {
	// Name is the kind's name in the configuration, without a slash.
	Name string
	// DefaultModel is the model to prefer at the kind's own address.
	DefaultModel string
	// EnvPrefix is the beginning of the variables PREFIX_API_KEY, PREFIX_MODEL and PREFIX_BASE_URL that providers are detected by; "" = none.
	EnvPrefix string
	// KeyDocument allows keys that are no values of a header, such as JSON.
	KeyDocument bool
	// AWS kinds sign requests for a region.
	AWS bool
	// Features say what models take, the most specific row first.
	Features []feature.Row
	// Sheet is what the API takes; what a model takes of it is in package catalog.
	Sheet Sheet
	// Profiles are names of servers of the kind whose deviations are known.
	Profiles []string
	// BuiltIn providers run in this process: they have no address, no key and only the default model.
	BuiltIn bool
}

// Config is one provider; Identity and HTTP are required.
type Config struct {
	// Identity is for errors. New adds to its secrets.
	Identity
	// BaseURL is the API's address; empty means the kind's own.
	BaseURL string
	// Profile is one of the kind's Profiles; "" for that of the address.
	Profile string
	// APIKey is sent with each request; zero sends none.
	APIKey secret.Value
	// Region, AccessKeyID and SessionToken are AWS's; the secret of the access key is APIKey.
	Region, AccessKeyID string
	SessionToken        secret.Value
	// Headers are sent with each request.
	Headers map[string]secret.Value
	// HTTP is the client, without its own timeout.
	HTTP *http.Client
}
