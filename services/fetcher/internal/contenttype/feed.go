package contenttype

import "bytes"

// feedRoots are the root elements of feeds.
var feedRoots = map[string]string{"rss": RSS, "rdf:rdf": RSS, "feed": Atom}

// sniffFeed names a feed in XML by its root element; empty for other XML.
func sniffFeed(head []byte) string {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for {
		head = bytes.TrimLeft(head, " \t\r\n\f")
		var end string
		switch {
		case bytes.HasPrefix(head, []byte("<?")):
			end = "?>"
		case bytes.HasPrefix(head, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(head, []byte("<!")):
			end = ">"
		default:
			root := firstTag(head)
			// RDF is a feed only in the vocabulary of RSS 1.0.
			if root == "rdf:rdf" && !bytes.Contains(head, []byte("purl.org/rss/1.0")) {
				return ""
			}
			return feedRoots[root]
		}
		_, rest, found := bytes.Cut(head, []byte(end))
		if !found {
			return ""
		}
		head = rest
	}
}

// isJSONFeed tells a JSON feed by the address of its version.
func isJSONFeed(head []byte) bool {
	return bytes.Contains(head, []byte(`//jsonfeed.org/version/`)) || bytes.Contains(head, []byte(`\/\/jsonfeed.org\/version\/`))
}
