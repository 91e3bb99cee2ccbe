package baidu

import (
	"net/url"
	"strings"
)

// linkKind says what an address on a result page leads to.
type linkKind int

const (
	// linkBroken is an address that cannot be read.
	linkBroken linkKind = iota
	// linkTarget leads to a page of the web.
	linkTarget
	// linkCounter leads there through Baidu's counter: nobody sees where to
	// without asking Baidu again.
	linkCounter
	// linkPaid is paid for.
	linkPaid
	// linkInternal leads back into Baidu's own result pages.
	linkInternal
)

var home = &url.URL{Scheme: "https", Host: "www.baidu.com", Path: "/s"}

// target is where a row leads to: what its attribute says, else its link.
func target(attribute, href string) (string, linkKind) {
	if at, kind := kindOf(attribute); kind == linkTarget || kind == linkInternal {
		return at, kind
	}
	return kindOf(href)
}

func kindOf(address string) (string, linkKind) {
	address = strings.TrimSpace(address)
	u, err := home.Parse(address)
	if err != nil || address == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", linkBroken
	}
	switch host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); {
	case host == "nourl.ubs.baidu.com":
		return "", linkBroken // Baidu's word for "no address"
	case host != "baidu.com" && host != "www.baidu.com" && host != "m.baidu.com":
		return u.String(), linkTarget
	}
	switch path := u.Path; {
	case path == "/link", path == "/tc", strings.HasSuffix(path, "/tc") && strings.HasPrefix(path, "/from="):
		return u.String(), linkCounter
	case path == "/baidu.php", path == "/aclick":
		return "", linkPaid
	case path == "/s", path == "/sf", strings.HasPrefix(path, "/sf/"):
		return "", linkInternal
	}
	return u.String(), linkTarget
}
