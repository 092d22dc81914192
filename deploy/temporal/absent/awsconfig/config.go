// Package config finds no configuration of AWS.
package config

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// EnvConfig is what the environment says.
type EnvConfig struct{ Credentials aws.Credentials }

// NewEnvConfig refuses.
func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, aws.ErrAbsent }

// Option is a setting.
type Option struct{}

// WithRegion sets nothing.
func WithRegion(string) Option { return Option{} }

// WithClientLogMode sets nothing.
func WithClientLogMode(aws.ClientLogMode) Option { return Option{} }

// LoadDefaultConfig refuses.
func LoadDefaultConfig(context.Context, ...Option) (aws.Config, error) {
	return aws.Config{}, aws.ErrAbsent
}
