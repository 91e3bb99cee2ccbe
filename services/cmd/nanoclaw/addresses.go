package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// taskAddresses is the most addresses of one crawl task.
	taskAddresses = 50
	// maxAddress is the longest address in characters.
	maxAddress = 2048
	// maxAddressLines is the most lines of a file of addresses.
	maxAddressLines = 100_000
)

// addresses are those on the command line and in a file, each once; - is stdin.
func (c *cli) addresses(args []string, file string) ([]string, error) {
	all := args
	switch file {
	case "":
	case "-":
		read, err := readAddresses(c.stdin, "stdin")
		if err != nil {
			return nil, err
		}
		all = slices.Concat(args, read)
	default:
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("--file %s: %w", file, pathReason(err))
		}
		defer f.Close()
		read, err := readAddresses(f, file)
		if err != nil {
			return nil, err
		}
		all = slices.Concat(args, read)
	}
	seen := make(map[string]bool, len(all))
	var once []string
	for i, address := range all {
		if utf8.RuneCountInString(address) > maxAddress {
			return nil, usagef("address %d, %.40s…, has over %d characters", i+1, address, maxAddress)
		}
		if address == "" || seen[address] {
			continue
		}
		seen[address] = true
		once = append(once, address)
	}
	if len(once) == 0 {
		return nil, usagef("there is no address to fetch: name some, or a file with one a line with --file")
	}
	return once, nil
}

// readAddresses reads an address a line; empty lines and lines that begin with #
// are passed over.
func readAddresses(r io.Reader, name string) ([]string, error) {
	const longestLine = 64 << 10
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	var all []string
	n := 0
	for ; lines.Scan(); n++ {
		if n == maxAddressLines {
			return nil, usagef("%s has over %d lines: cut it into parts", name, maxAddressLines)
		}
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, usagef("%s: line %d is too long: it must be one address", name, n+1)
	case err != nil:
		return nil, fmt.Errorf("read addresses from %s: %w", name, pathReason(err))
	}
	return all, nil
}
