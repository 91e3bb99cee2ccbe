package provider

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

const completionsPath = "/chat/completions"

// versionSegment finds a path segment that names an API version: v1, v4,
// v1beta.
var versionSegment = regexp.MustCompile(`/v[0-9]+[a-z0-9]*(/|$)`)

// versionQuery names the API version at Azure.
const versionQuery = "api-version"

// deploymentPath finds the address of one deployment at Azure, which names its
// API version in the query.
var deploymentPath = regexp.MustCompile(`/openai/deployments/[^/]+$`)

// endpointURL makes the address of the chat-completions call from what people
// write as api_url: with or without a version, a slash at the end, or the
// whole path. A path without any version gets /v1, unless the query names one as
// Azure has it, and an address without any path gets basePath where there is one. A
// query stays.
func endpointURL(apiURL, basePath string) (*url.URL, error) {
	raw := strings.TrimSpace(apiURL)
	if raw == "" {
		return nil, errors.New("api_url is empty: set it to the provider's base address, for example https://api.openai.com/v1")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("api_url is not an address: %w", withoutURL(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("api_url %q: want http:// or https:// and a host, for example https://api.openai.com/v1", displayURL(raw))
	}
	if u.User != nil {
		return nil, errors.New("api_url must not carry a user name or password: put the key into api_key")
	}
	path := strings.TrimRight(u.Path, "/")
	deployment := deploymentPath.MatchString(strings.TrimSuffix(path, completionsPath))
	version := u.Query().Get(versionQuery)
	if deployment && version == "" {
		return nil, errors.New("api_url of an Azure deployment needs its API version: add ?api-version=2024-10-21, or the one of your resource")
	}
	switch {
	case strings.HasSuffix(path, completionsPath):
	case path == "" && basePath != "":
		path = basePath + completionsPath
	case version != "" && path != "":
		path += completionsPath
	case versionSegment.MatchString(path):
		path += completionsPath
	default:
		path += "/v1" + completionsPath
	}
	u.Path, u.RawPath, u.Fragment = path, "", ""
	return u, nil
}

// displayURL shortens an address to what may be shown: no credentials, no
// query, no fragment.
func displayURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(an unreadable address)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// withoutURL strips the address from net/url and net/http errors: it may hold
// a key in its query.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
