package audio

import (
	"errors"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// bucketLocation is a part of a bucket.
type bucketLocation struct {
	name   string
	prefix string // of keys: empty, or with a slash at its end
	host   string // with the port, where it isn't the scheme's
	secure bool
	region string
	style  minio.BucketLookupType // whether the bucket stands in a link's host or in its path
}

var errCredentials = errors.New("holds credentials: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
	"from the file that AWS_SHARED_CREDENTIALS_FILE names, or from the machine's role")

// parseBucket reads s3://bucket/prefix?endpoint=...&region=...&style=...
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
	b.region = options["region"]
	if endpoint, custom := options["endpoint"]; custom {
		b.style = minio.BucketLookupPath // which every server knows, and certificates for one host serve
		if err := b.setEndpoint(endpoint); err != nil {
			return bucketLocation{}, err
		}
	}
	if b.region == "" {
		return bucketLocation{}, errors.New("has no region: add region=eu-central-1 for example to its query")
	}
	return b, b.setStyle(options["style"])
}

// parseOptions reads a query that may hold each of three options, once. What else is there may be a secret, so it is not
// repeated.
func parseOptions(query string) (map[string]string, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("has a malformed query: " + locationForm)
	}
	options := make(map[string]string)
	for name, values := range given {
		switch {
		case name != "endpoint" && name != "region" && name != "style":
			return nil, errors.New("has more in its query than endpoint, region and style")
		case len(values) > 1 || values[0] == "":
			return nil, errors.New("has a " + name + " that is empty or there twice")
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
		b.region = "us-east-1" // what servers without regions call theirs
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
