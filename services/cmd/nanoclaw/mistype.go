package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

// flagError turns what the flag parser says into a usage error that names the
// nearest flag, or what the flag takes.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usagef("%q has no flag --%s%s", cmd.CommandPath(), unknown.GetSpecifiedName(),
			didYouMean("--", unknown.GetSpecifiedName(), names, "; \""+cmd.CommandPath()+" --help\" lists them"))
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		return usagef("%q has no flag -%s; what begins with - and is no flag goes behind a --: %s -- -%s",
			cmd.CommandPath(), name, cmd.CommandPath(), unknown.GetSpecifiedShortnames())
	case errors.As(err, &bad):
		if inner := bad.Unwrap(); isWorded(inner) {
			return usagef("--%s: %w", bad.GetFlag().Name, inner)
		}
		return usagef("--%s: %q is not %s", bad.GetFlag().Name, bad.GetValue(), kindWords(bad.GetFlag().Value.Type()))
	case errors.As(err, &missing):
		return usagef("--%s needs a value: %s", missing.GetFlag().Name, kindWords(missing.GetFlag().Value.Type()))
	}
	return usagef("%w", err)
}

// kindWords names what a flag of a type takes.
func kindWords(typ string) string {
	switch typ {
	case "int", "int32", "uint64":
		return "a whole number"
	case "duration":
		return "a duration such as 30s or 2m"
	case "bool":
		return "true or false"
	}
	if strings.Contains(typ, "|") {
		return strings.Join(strings.Split(typ, "|"), ", ")
	}
	return "some text"
}

// filled refuses flags that were given without text, as those with an unset
// variable of a script are: without them something else is done than was meant.
func filled(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			return usagef("--%s needs a value: %s", name, kindWords(f.Value.Type()))
		}
	}
	return nil
}

// readable refuses text that is no valid UTF-8, which no call carries.
func readable(cmd *cobra.Command, args []string) error {
	for _, a := range args {
		if !utf8.ValidString(a) {
			return usagef("%q is no valid UTF-8; give plain text", a)
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); err == nil && !utf8.ValidString(v) {
			err = usagef("--%s: %q is no valid UTF-8; give plain text", f.Name, v)
		}
	})
	return err
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

// Type is shown in the help.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// Set refuses every other word and names the nearest one.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return wordedError(fmt.Sprintf("%q is none of %s%s", word, strings.Join(c.allowed, ", "), didYouMean("", word, c.allowed, "")))
	}
	c.value = word
	return nil
}

// span is a flag that takes a length of time, which is never less than none.
type span time.Duration

// String is empty for no time, so that the help shows no default.
func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Type is shown in the help.
func (*span) Type() string { return "duration" }

// Set refuses what is no length of time.
func (s *span) Set(word string) error {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return err
	case d < 0:
		return wordedError(fmt.Sprintf("%s is less than no time; give a duration such as 30s or 2m", word))
	}
	*s = span(d)
	return nil
}

// wordedError is a flag error that already says what the flag takes.
type wordedError string

func (e wordedError) Error() string { return string(e) }

func isWorded(err error) bool {
	var worded wordedError
	return errors.As(err, &worded)
}

// group is a command that only holds others. Called alone or with a word that
// is none of them it is a mistake, never a silent success.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("say what to do: %q", cmd.CommandPath()+" "+strings.Join(commandNames(cmd), "|"))
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

func unknownCommand(cmd *cobra.Command, word string) error {
	names := commandNames(cmd)
	return usagef("%q has no command %q%s", cmd.CommandPath(), word,
		didYouMean("", word, names, "; it has "+strings.Join(names, ", ")))
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// exactly wants a number of arguments and shows how the command is used.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("something is missing: %s", cmd.UseLine())
		case len(args) > most:
			return usagef("%q is too much: %s (put quotes around text with spaces)", args[most], cmd.UseLine())
		}
		return nil
	}
}

// exclusive refuses flags that contradict each other.
func exclusive(cmd *cobra.Command, one, other string) error {
	if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
		return usagef("--%s and --%s exclude each other: give one of them", one, other)
	}
	return nil
}

// didYouMean names the candidate that a slip of the hand explains, else says
// otherwise.
func didYouMean(prefix, word string, candidates []string, otherwise string) string {
	best := spelling.Nearest(strings.ToLower(word), candidates)
	if best == "" {
		return otherwise
	}
	return ", did you mean " + prefix + best + "?"
}
