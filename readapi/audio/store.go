package audio

import (
	"context"
	"mime"
	"strings"
	"time"
)

// lifetime is how long a link is valid.
const lifetime = 15 * time.Minute

// Object is the audio of a recording.
type Object struct {
	Key         string // in the store, separated by slashes
	ContentType string
}

// Link gives access to an object without a key until it expires.
type Link struct {
	URL     string
	Expires time.Time // in whole seconds
}

// Store signs links to its objects. It is safe for concurrent use.
type Store interface {
	Sign(ctx context.Context, o Object) (Link, error)
}

// Open returns the store at a location. The links of a folder begin with the prefix, a URL that ends with a slash, and
// are sealed with the secret.
func Open(at Location, prefix string, secret []byte) (Store, error) {
	if at.folder != "" {
		return newFolder(at.folder, prefix, secret)
	}
	return newBucket(at.bucket)
}

// mediaType returns the content type for the response. Anything other than audio or video is served as bytes, so that a
// browser never renders an object as a page.
func (o Object) mediaType() string {
	kind, parameters, err := mime.ParseMediaType(o.ContentType)
	if err != nil || !strings.HasPrefix(kind, "audio/") && !strings.HasPrefix(kind, "video/") {
		return "application/octet-stream"
	}
	return mime.FormatMediaType(kind, parameters)
}

// The headers of audio, which are the same for both kinds of store.
const (
	cacheControl       = "private, no-store"
	contentDisposition = "inline"
)
