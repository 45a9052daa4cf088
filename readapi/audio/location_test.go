package audio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
)

func TestParseLocation_Bucket(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bucketLocation{
		"s3://calls?region=eu-central-1": {
			name: "calls", host: "s3.amazonaws.com", secure: true, region: "eu-central-1", style: minio.BucketLookupAuto,
		},
		"s3://calls/a/b/?region=eu-central-1": {
			name: "calls", prefix: "a/b/", host: "s3.amazonaws.com", secure: true, region: "eu-central-1", style: minio.BucketLookupAuto,
		},
		"s3://calls?endpoint=https://store:9000": {
			name: "calls", host: "store:9000", secure: true, region: "us-east-1", style: minio.BucketLookupPath,
		},
		"s3://calls?endpoint=http%3A%2F%2F127.0.0.1%3A9000%2F&region=here&style=virtual": {
			name: "calls", host: "127.0.0.1:9000", region: "here", style: minio.BucketLookupDNS,
		},
		"s3://calls?region=eu-central-1&style=path": {
			name: "calls", host: "s3.amazonaws.com", secure: true, region: "eu-central-1", style: minio.BucketLookupPath,
		},
	} {
		at, err := ParseLocation(text)
		if err != nil || at.bucket != want || at.folder != "" {
			t.Errorf("%s: location = %+v, error = %v, want %+v", text, at, err, want)
		}
	}
}

func TestParseLocation_Folder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if at, err := ParseLocation("file://" + strings.ReplaceAll(dir, " ", "%20")); err != nil || at.folder != dir {
		t.Errorf("location = %+v, error = %v, want folder %s", at, err, dir)
	}
}

// An error says what to write, and does not repeat a part of the text that may be a secret.
func TestParseLocation_RefusesInvalidURLs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                            "s3://",
		"/var/audio":                                  "neither s3:// nor file://",
		"gs://bucket":                                 "neither s3:// nor file://",
		"s3:bucket":                                   "not the URL",
		"s3://":                                       "names no bucket",
		"s3:///key":                                   "names no bucket",
		"s3://a":                                      "names no bucket",
		"s3://Upper?region=x":                         "names no bucket",
		"s3://calls:9000?region=x":                    "names no bucket",
		"s3://calls":                                  "has no region",
		"s3://calls?region=":                          "region that is empty",
		"s3://calls?region=a&region=b":                "set twice",
		"s3://calls?region=a#hunter2":                 "not the URL",
		"s3://calls?regio=hunter2":                    "more than endpoint",
		"s3://calls?secret=hunter2&region=x":          "more than endpoint",
		"s3://calls?region=%zz":                       "malformed query",
		"s3://calls?region=x&style=hunter2":           "neither path nor virtual",
		"s3://me:hunter2@calls?region=x":              "AWS_ACCESS_KEY_ID",
		"s3://calls?endpoint=hunter2":                 "scheme, host and port",
		"s3://calls?endpoint=ftp://hunter2":           "scheme, host and port",
		"s3://calls?endpoint=https://h/hunter2":       "scheme, host and port",
		"s3://calls?endpoint=https://h%3Fa%3Dhunter2": "scheme, host and port",
		"s3://calls?endpoint=https://me:hunter2@h":    "AWS_ACCESS_KEY_ID",
		"file://":                                     "write file:///folder",
		"file://host/hunter2":                         "write file:///folder",
		"file:///tmp?hunter2":                         "write file:///folder",
		"file://me:hunter2@/tmp":                      "AWS_ACCESS_KEY_ID",
		"file:///nowhere/at/all":                      "cannot be read",
		"file://" + file:                              "does not name a folder",
		"s3://me:hunter2\x7f@calls":                   "not the URL",
	} {
		_, err := ParseLocation(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error = %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: error = %v, want no part of the secret", text, err)
		}
	}
}

func TestOpen_Refuses(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]Location{"an empty location": {}, "a short secret": {folder: t.TempDir()}} {
		if got, err := Open(store, prefix, []byte("short")); err == nil {
			t.Errorf("%s: store = %+v, want an error", name, got)
		}
	}
}
