package sandbox

// Config is the `sandbox` section of the configuration.
type Config struct{}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config { return Config{} }

// Validate names every value that is out of range.
func (c Config) Validate() error { return nil }
