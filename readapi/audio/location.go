package audio

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Location is where a store is: a folder or a bucket. It holds no secret.
type Location struct {
	folder string // empty: a bucket
	bucket bucketLocation
}

const locationForm = "write s3://bucket/prefix?endpoint=https://host&region=name or file:///folder"

// ParseLocation reads the URL of a store. The error says what to write instead and has nothing of the text in it but a
// folder's path, since the text may hold a secret by mistake.
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
		return "", fmt.Errorf("names a folder that can't be read: %w", err)
	}
	if !info.IsDir() {
		return "", errors.New("names what is not a folder: " + path)
	}
	return path, nil
}
