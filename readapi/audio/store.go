package audio

import (
	"context"
	"mime"
	"strings"
	"time"
)

// Lifetime is how long a link works.
const Lifetime = 15 * time.Minute

// Object is a recording's audio.
type Object struct {
	Key         string // in the store, with slashes
	ContentType string
}

// Link is where an object can be heard until it expires, by whoever has the link.
type Link struct {
	URL     string
	Expires time.Time // a whole second
}

// Store signs links to what it holds. Its methods may be called from several goroutines.
type Store interface {
	Sign(ctx context.Context, o Object) (Link, error)
}

// Open is the store at a location. A folder's links lie under the prefix, a URL that ends in a slash, and are sealed with the
// secret.
func Open(at Location, prefix string, secret []byte) (Store, error) {
	if at.folder != "" {
		return newFolder(at.folder, prefix, secret)
	}
	return newBucket(at.bucket)
}

// mediaType is how an object is served. What is neither sound nor film is served as bytes, so that no page comes from where
// audio is expected.
func (o Object) mediaType() string {
	kind, parameters, err := mime.ParseMediaType(o.ContentType)
	if err != nil || !strings.HasPrefix(kind, "audio/") && !strings.HasPrefix(kind, "video/") {
		return "application/octet-stream"
	}
	return mime.FormatMediaType(kind, parameters)
}

// The headers of audio, the same from both kinds of store.
const (
	cacheControl       = "private, no-store"
	contentDisposition = "inline"
)
