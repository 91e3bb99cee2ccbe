package document

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// officeFile is an Office file: a zip archive of XML parts.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
	what  string
}

// checkArchive refuses archives that promise more than may be unpacked.
func checkArchive(body []byte) error {
	_, err := openArchive(body)
	return err
}

func openArchive(body []byte) (*zip.Reader, error) {
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, damaged(err, "the file is damaged: it broke off or is no Office file; get it again")
	}
	if len(archive.File) > maxEntries {
		return nil, tooLarge("the file has %d parts; at most %d are read", len(archive.File), maxEntries)
	}
	var sum uint64
	for _, f := range archive.File {
		if sum += f.UncompressedSize64; f.UncompressedSize64 > maxUnzipped || sum > maxUnzipped {
			return nil, tooLarge("the file would unpack to more than %d MiB", maxUnzipped>>20)
		}
	}
	return archive, nil
}

// openOffice opens an Office file; what names it in errors.
func openOffice(body []byte, what string) (*officeFile, error) {
	archive, err := openArchive(body)
	if err != nil {
		return nil, err
	}
	o := &officeFile{parts: make(map[string]*zip.File, len(archive.File)), left: maxUnzipped, what: what}
	for _, f := range archive.File {
		name := strings.TrimPrefix(f.Name, "/")
		if _, twice := o.parts[name]; !twice {
			o.parts[name] = f
		}
	}
	return o, nil
}

// errTooDeep is XML whose elements nest too deeply.
var errTooDeep = fmt.Errorf("elements nest more than %d deep", maxDepth)

// walk reads a part as XML and gives each beginning, end and text to visit. A
// part that is not there has nothing to visit. Entities of the part's own are
// not expanded: encoding/xml refuses them.
func (o *officeFile) walk(ctx context.Context, name string, visit func(xml.Token) error) error {
	f := o.parts[name]
	if f == nil {
		return nil
	}
	in, err := f.Open()
	if err != nil {
		return o.broken(name, err)
	}
	defer func() { _ = in.Close() }()
	limited := &countingReader{in: in, left: &o.left, part: maxPart}
	dec := xml.NewDecoder(limited)
	dec.CharsetReader = func(label string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("encoding %q is not one of Office files", label)
	}
	depth := 0
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tok, err := dec.RawToken()
		switch {
		case errors.Is(err, io.EOF) && depth == 0:
			return nil
		case errors.Is(err, errUnpacked):
			return tooLarge("a part of the %s file (%s) unpacks to more than may be read", o.what, path.Base(name))
		case err != nil:
			return o.broken(name, err)
		}
		switch tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return o.broken(name, errTooDeep)
			}
		case xml.EndElement:
			if depth--; depth < 0 {
				return o.broken(name, errors.New("an element ends that did not begin"))
			}
		case xml.CharData:
		default:
			continue
		}
		if err := visit(tok); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
}

// errStop ends a walk early.
var errStop = errors.New("enough")

func (o *officeFile) broken(name string, err error) error {
	return damaged(err, "the %s file is damaged: its part %s cannot be read", o.what, path.Base(name))
}

var errUnpacked = errors.New("unpacked too much")

// countingReader ends with errUnpacked when a part, or all parts together, have
// more bytes than may be read, whatever the archive promised.
type countingReader struct {
	in   io.Reader
	left *int64
	part int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	if *c.left <= 0 || c.part <= 0 {
		return 0, errUnpacked
	}
	if limit := min(*c.left, c.part); int64(len(p)) > limit {
		p = p[:limit]
	}
	n, err := c.in.Read(p)
	*c.left -= int64(n)
	c.part -= int64(n)
	return n, err
}

// attribute is the value of an attribute by its local name, whatever prefix it
// has.
func attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// relation is an entry of a part's relations.
type relation struct {
	kind, target string
	external     bool
}

// relations reads the relations of a part by id; targets inside are full names.
func (o *officeFile) relations(ctx context.Context, part string) (map[string]relation, error) {
	out := map[string]relation{}
	dir, base := path.Split(part)
	err := o.walk(ctx, dir+"_rels/"+base+".rels", func(tok xml.Token) error {
		e, ok := tok.(xml.StartElement)
		if !ok || e.Name.Local != "Relationship" {
			return nil
		}
		r := relation{
			kind: path.Base(attribute(e, "Type")), target: attribute(e, "Target"),
			external: strings.EqualFold(attribute(e, "TargetMode"), "External"),
		}
		if !r.external {
			if strings.HasPrefix(r.target, "/") {
				r.target = strings.TrimPrefix(path.Clean(r.target), "/")
			} else {
				r.target = path.Join(dir, r.target)
			}
		}
		out[attribute(e, "Id")] = r
		return nil
	})
	return out, err
}

// about reads the core properties, which all Office files have.
func (o *officeFile) about(ctx context.Context) (About, error) {
	var a About
	var field string
	err := o.walk(ctx, "docProps/core.xml", func(tok xml.Token) error {
		switch t := tok.(type) {
		case xml.StartElement:
			field = t.Name.Local
		case xml.EndElement:
			field = ""
		case xml.CharData:
			value := oneLine(string(t), maxProperty)
			switch field {
			case "title":
				a.Title = value
			case "creator":
				a.Byline = value
			case "description":
				a.Description = value
			case "language":
				a.Language = value
			case "created":
				a.Published = moment(value)
			case "modified":
				a.Modified = moment(value)
			case "subject", "keywords", "category":
				a.set(field, value)
			}
		}
		return nil
	})
	return a, err
}
