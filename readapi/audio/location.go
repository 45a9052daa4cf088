package audio

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Location is a folder or a bucket. It contains no secret.
type Location struct {
	folder string // empty for a bucket
	bucket bucketLocation
}

const locationForm = "write s3://bucket/prefix?endpoint=https://host&region=name or file:///folder"

// ParseLocation parses the URL of a store. The error says what to write instead. It repeats nothing of the text except
// a folder's path, because the text may contain a secret by mistake.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Fragment != "":
		return Location{}, errors.New("is not the URL of a store: " + locationForm)
	case u.User != nil:
		return Location{}, errCredentials
	}

	var at Location
	switch u.Scheme {
	case "file":
		at.folder, err = parseFolder(u)
	case "s3":
		at.bucket, err = parseBucket(u)
	default:
		err = errors.New("begins with neither s3:// nor file://: " + locationForm)
	}
	return at, err
}

func parseFolder(u *url.URL) (string, error) {
	path := filepath.FromSlash(u.Path)
	if u.Host != "" || u.RawQuery != "" || !filepath.IsAbs(path) {
		return "", errors.New("is not a folder of this machine: write file:///folder")
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("names a folder that cannot be read: %w", err)
	}
	if !info.IsDir() {
		return "", errors.New("does not name a folder: " + path)
	}
	return path, nil
}

// bucketLocation is a bucket, or the keys with a prefix in it.
type bucketLocation struct {
	name   string
	prefix string // of keys; empty, or ends with a slash
	host   string // with the port, unless it is the default of the scheme
	secure bool
	region string
	style  minio.BucketLookupType // whether links have the bucket in the host or in the path
}

var errCredentials = errors.New("contains credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
	"or use the file that AWS_SHARED_CREDENTIALS_FILE names or the machine's role")

// parseBucket parses s3://bucket/prefix?endpoint=...&region=...&style=...
func parseBucket(u *url.URL) (bucketLocation, error) {
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		return bucketLocation{}, errors.New("names no bucket: " + locationForm)
	}

	b := bucketLocation{name: u.Host, host: "s3.amazonaws.com", secure: true, style: minio.BucketLookupAuto}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		b.prefix = prefix + "/"
	}

	options, err := parseOptions(u.RawQuery)
	if err != nil {
		return bucketLocation{}, err
	}

	// The region is read first, because an endpoint without a region gets a default region.
	b.region = options["region"]
	if endpoint, custom := options["endpoint"]; custom {
		b.style = minio.BucketLookupPath // every server supports it, and it needs a certificate for one host only
		if err := b.setEndpoint(endpoint); err != nil {
			return bucketLocation{}, err
		}
	}

	if b.region == "" {
		return bucketLocation{}, errors.New("has no region: add region=eu-central-1 for example to its query")
	}
	return b, b.setStyle(options["style"])
}

// parseOptions parses a query in which each of three options may occur once. The errors do not repeat anything else,
// because it may be a secret.
func parseOptions(query string) (map[string]string, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("has a malformed query: " + locationForm)
	}

	options := make(map[string]string)
	for name, values := range given {
		switch {
		case name != "endpoint" && name != "region" && name != "style":
			return nil, errors.New("has a query with more than endpoint, region and style")
		case len(values) > 1 || values[0] == "":
			return nil, errors.New("has a " + name + " that is empty or set twice")
		}

		options[name] = values[0]
	}
	return options, nil
}

func (b *bucketLocation) setEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.User != nil:
		return errCredentials
	case err != nil,
		u.Scheme != "http" && u.Scheme != "https",
		u.Hostname() == "", strings.Trim(u.Path, "/") != "",
		u.RawQuery != "" || u.Fragment != "":
		return errors.New("has an endpoint that is not scheme, host and port alone: write endpoint=https://host:9000")
	}

	b.host, b.secure = u.Host, u.Scheme == "https"
	if b.region == "" {
		b.region = "us-east-1" // the region name of servers without regions
	}
	return nil
}

func (b *bucketLocation) setStyle(style string) error {
	switch style {
	case "":
	case "path":
		b.style = minio.BucketLookupPath
	case "virtual":
		b.style = minio.BucketLookupDNS
	default:
		return errors.New("has a style that is neither path nor virtual")
	}
	return nil
}
