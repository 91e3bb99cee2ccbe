package blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
)

// Config is what an operator may set.
type Config struct {
	// URL is where blobs are kept: a folder, or s3://bucket, see [Open]. Empty
	// means the folder "blobs" of the data folder. Keys of S3 are not part of
	// it.
	URL string `config:"url"`
}

// Validate names every setting that cannot be.
func (c Config) Validate() error {
	if c.URL == "" {
		return nil
	}
	if _, err := parse(c.URL); err != nil {
		return fmt.Errorf("blobs.url: %w", err)
	}
	return nil
}

// Shared tells whether processes on several machines see the same blobs.
func (c Config) Shared() bool { return strings.HasPrefix(c.URL, s3blob.Scheme+"://") }

// Open opens a bucket; the caller closes it. location is
//
//   - the path of a folder, created with mode 0700 when missing, or the same as
//     a file:// URL;
//   - s3://bucket?region=eu-central-1, or s3://bucket?endpoint=https://host:port
//     for a server that speaks S3. The bucket must exist. Keys come from the
//     AWS_* variables, ~/.aws, or the machine's role, as everywhere with AWS; a
//     region may too. profile=name chooses one of ~/.aws. Buckets at an endpoint
//     are addressed by path unless use_path_style=false.
//
// Nothing is sent: see [Check]. No error holds a key.
func Open(ctx context.Context, location string) (Bucket, error) {
	where, err := parse(location)
	switch {
	case err != nil:
		return nil, fmt.Errorf("blob store: %w", err)
	case where.s3 != nil:
		return openS3(ctx, *where.s3)
	}
	return openFolder(where.dir)
}

// place is a location taken apart: a folder, or a bucket of S3.
type place struct {
	dir string
	s3  *s3Place
}

func parse(location string) (place, error) {
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		if location == "" {
			return place{}, errors.New("the path of the folder is empty")
		}
		return place{dir: location}, nil
	}
	u, err := url.Parse(location)
	switch scheme {
	case fileblob.Scheme:
		if err != nil || (u.Host != "" && u.Host != "localhost") {
			return place{}, errors.New("a file URL is written file:///absolute/folder")
		}
		if u.Path == "" {
			return place{}, errors.New("the path of the folder is empty")
		}
		return place{dir: u.Path}, nil
	case s3blob.Scheme:
		if err != nil { // its words would repeat the location
			return place{}, errors.New("an S3 bucket is written s3://bucket?region=...&endpoint=https://host:port")
		}
		s3, err := parseS3(u)
		return place{s3: &s3}, err
	}
	return place{}, fmt.Errorf("%s:// is not supported; supported: a folder, file:// and s3://", scheme)
}

func parseS3(u *url.URL) (s3Place, error) {
	const keysElsewhere = "keys do not belong into the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	if u.User != nil {
		return s3Place{}, errors.New(keysElsewhere)
	}
	if u.Host == "" || (u.Path != "" && u.Path != "/") {
		return s3Place{}, errors.New("an S3 bucket is written s3://bucket, without a folder in it")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return s3Place{}, errors.New("the part of the S3 URL behind ? cannot be read: write it as key=value&key=value")
	}
	at := s3Place{bucket: u.Host, region: query.Get("region"), profile: query.Get("profile"), endpoint: query.Get("endpoint")}
	at.byPath = at.endpoint != ""
	known := []string{"region", "profile", "endpoint", "use_path_style", "s3ForcePathStyle"}
	for key, values := range query {
		switch {
		case !slices.Contains(known, key):
			return s3Place{}, fmt.Errorf("the S3 URL has %q; known are region, endpoint, profile and use_path_style; %s", key, keysElsewhere)
		case key == "use_path_style" || key == "s3ForcePathStyle":
			if values[0] != "true" && values[0] != "false" {
				return s3Place{}, fmt.Errorf("%s in the S3 URL must be true or false", key)
			}
			at.byPath = values[0] == "true"
		case key == "endpoint":
			e, err := url.Parse(at.endpoint)
			if err != nil || (e.Scheme != "http" && e.Scheme != "https") || e.Host == "" || e.User != nil {
				return s3Place{}, errors.New("endpoint in the S3 URL must be http://host:port or https://host:port")
			}
		}
	}
	return at, nil
}

func openFolder(dir string) (Bucket, error) {
	const private = 0o700
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir:   true,
		DirFileMode: private,
		NoTempDir:   true, // a rename from /tmp could cross file systems
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", dir, err)
	}
	return &portable{bucket: bucket}, nil
}
