// Package config fills a configuration struct from a YAML file, the environment
// and the command line, and says precisely what is wrong when it cannot.
//
// The struct is the schema: a field with a `config:"name"` tag is a key, its type
// says what the key takes, and the value it holds before [Load] is the default.
//
//	type Config struct {
//		Timeout time.Duration `config:"timeout"`
//		Models  []Model       `config:"models"`
//	}
//
// Later sources win: defaults < file < environment < flags. A later source sets
// single keys of a section, and replaces a list as a whole. A key that is there
// with no value (null) keeps what it had.
//
// The layers are written into the struct one after the other. A merge of maps
// before the decoding, as configuration libraries do it, would lose the line a
// value came from and with it the errors this package is for.
package config
