package netguard

import (
	"fmt"
	"strconv"
)

// Reasons of a Decision and of an Error: short machine words, stable.
const (
	// Allowed.
	ReasonPublic      = "public"       // an IP literal that is public unicast
	ReasonAllowListed = "allow_listed" // the exact ip:port is in netguard.allow
	// Decided on the addresses the name resolves to.
	ReasonResolve = "resolve"

	// The URL.
	ReasonParse    = "parse"
	ReasonScheme   = "scheme"
	ReasonUserinfo = "userinfo"
	ReasonPort     = "port"
	// The host; no_host, bad_host, idna, numeric_host and zone are the words of
	// package domains.
	ReasonSpecialName = "special_name"
	// The connection.
	ReasonNetwork = "network" // not TCP

	// The address.
	ReasonUnspecified   = "unspecified"
	ReasonThisNetwork   = "this_network"
	ReasonLoopback      = "loopback"
	ReasonPrivate       = "private"
	ReasonCGNAT         = "cgnat"
	ReasonLinkLocal     = "link_local"
	ReasonMetadata      = "metadata"
	ReasonDocumentation = "documentation"
	ReasonBenchmarking  = "benchmarking"
	ReasonMulticast     = "multicast"
	ReasonReserved      = "reserved"
	ReasonTeredo        = "teredo"
	ReasonNAT64         = "nat64"
	ReasonZone          = "zone"

	// The redirect.
	ReasonTooManyRedirects = "too_many_redirects"
	ReasonDowngrade        = "downgrade"
)

// Error is a refusal. Reason is a machine word, Target what was refused: a
// scheme, a host, a host:port or an ip:port. Target never holds credentials, a
// path or a query.
type Error struct {
	Reason string
	Target string
	advice string
}

// Error says what was refused, why, and what to do about it.
func (e *Error) Error() string {
	what := "address"
	if e.Reason == ReasonScheme && e.Target != "" {
		what = "scheme"
	}
	if e.Target != "" {
		what += " " + strconv.Quote(e.Target)
	}
	text := what + " refused: " + explain(e.Reason)
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

func explain(reason string) string {
	if words, ok := explanations[reason]; ok {
		return words
	}
	return "it is a " + reason + " address, and only public ones are reached"
}

var explanations = map[string]string{
	ReasonParse:            "it cannot be read as a URL; give an absolute http or https URL",
	ReasonScheme:           "only http:// and https:// are fetched",
	ReasonUserinfo:         "credentials in a URL are not accepted; remove everything up to the @",
	ReasonPort:             "the port is not one that may be dialled",
	ReasonSpecialName:      "the name is one of a local network, not of the public internet; give a full public name",
	ReasonNetwork:          "only TCP connections are made",
	ReasonMetadata:         "it is the address of a cloud metadata service",
	ReasonReserved:         "it is not a public unicast address",
	ReasonZone:             "an address with a zone id is local to this machine",
	"no_host":              "it has no host; give an absolute http or https URL",
	"bad_host":             "the host has an empty or over-long label or a character that no host name may have",
	"idna":                 "the host is not a valid internationalised domain name",
	"numeric_host":         "the host looks like a number; write an IPv4 address as four decimal parts",
	ReasonTooManyRedirects: fmt.Sprintf("it follows more than %d redirects", MaxRedirects),
	ReasonDowngrade:        "it is a redirect from https to http",
}

// ownAddress reports whether an operator may well own an address that was
// refused for this reason, so that the allow list is worth mentioning.
func ownAddress(reason string) bool {
	switch reason {
	case ReasonLoopback, ReasonPrivate, ReasonCGNAT, ReasonPort:
		return true
	}
	return false
}
