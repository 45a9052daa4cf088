package events

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// maxChunk is the object store's default chunk size in bytes. A server with a small max_payload needs smaller chunks.
const maxChunk = 128 << 10

// storeBody stores a transcript's text and turns in the object store and returns the transcript with a claim check in their place.
func (p *Publisher) storeBody(ctx context.Context, t *Transcript) (*Transcript, error) {
	body, err := json.Marshal(transcriptBody{t.Text, t.Turns})
	if err != nil {
		return nil, err
	}
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("body of %d bytes is over the limit of %d", len(body), MaxBodyBytes)
	}
	o := Object{Bucket: TranscriptBucket, Name: objectName(t.Identity()), Bytes: int64(len(body)), Digest: digest(body)}
	err = backoff.Retry(func() error { return p.putEntry(ctx, o, body) }, backoff.WithContext(newBackOff(), ctx))
	if err != nil {
		return nil, fmt.Errorf("transcript body: %w", err)
	}
	stored := *t
	stored.Text, stored.Turns, stored.Object = Null[string]{}, nil, &o
	return &stored, nil
}

// transcriptBody is the content of an entry of the object store.
type transcriptBody struct {
	Text  Null[string] `json:"text"`
	Turns []Turn       `json:"turns"`
}

// objectName returns the same name for every attempt to publish one state of a transcript.
func objectName(id Identity) string {
	return id.System.String() + "/" + id.Key + "/" + strconv.FormatInt(id.Version, 10)
}

// putEntry does not replace an equal entry, because that would delete chunks that a consumer may be reading.
func (p *Publisher) putEntry(ctx context.Context, o Object, body []byte) error {
	bucket, err := p.js.ObjectStore(ctx, o.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return backoff.Permanent(err)
	}
	if err != nil {
		return err
	}
	info, err := bucket.GetInfo(ctx, o.Name)
	if err == nil && info.Size == uint64(o.Bytes) && sameDigest(info.Digest, o.Digest) {
		return nil
	}
	_, err = bucket.Put(ctx, jetstream.ObjectMeta{
		Name: o.Name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(min(p.limit(), maxChunk))},
	}, bytes.NewReader(body))
	return err
}

// MaxBodyBytes is the largest claim-checked body that is stored and fetched. A consumer holds the parsed body in memory. The text of a
// day of speech has about 2 MB, so a larger body is a mistake.
const MaxBodyBytes = 16 << 20

const (
	fetchTimeout = 30 * time.Second
	// An object store answers from any replica, which can lag behind the event that names the entry.
	fetchRetries       = 3
	fetchRetryInterval = 50 * time.Millisecond
)

// FetchBody fetches the text and turns of a transcript with a claim check, sets them, and clears its Object. It leaves a transcript
// without a claim check unchanged. An [*InvalidError] at /object means that the entry is missing, unreadable or another one than the
// event announced; it is permanent. Any other error is temporary. An error leaves the transcript unchanged.
func FetchBody(ctx context.Context, js jetstream.JetStream, t *Transcript) error {
	if t.Object == nil {
		return nil
	}
	var body []byte
	err := backoff.Retry(func() (err error) {
		body, err = fetchEntry(ctx, js, *t.Object)
		if fault := entryError(""); err != nil && !errors.As(err, &fault) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(fetchRetryInterval), fetchRetries), ctx))
	if err == nil {
		err = t.ReadBody(body)
	}
	return objectError(err)
}

// objectError turns a permanent error into a problem of the member that names the entry.
func objectError(err error) error {
	var fault entryError
	var invalid *InvalidError
	switch {
	case errors.As(err, &fault):
		return &InvalidError{Problems: []Problem{{"/object", string(fault)}}}
	case errors.As(err, &invalid):
		return &InvalidError{Problems: []Problem{{"/object", "its entry is not valid: " + invalid.Error()}}}
	case err != nil:
		return fmt.Errorf("transcript body: %w", err)
	}
	return nil
}

// entryError is a permanent error: the entry of the object store and its announcement in the event do not match.
type entryError string

func (e entryError) Error() string { return string(e) }

func fetchEntry(ctx context.Context, js jetstream.JetStream, o Object) ([]byte, error) {
	switch {
	case o.Bucket != TranscriptBucket:
		return nil, entryError("its bucket must be " + TranscriptBucket)
	case o.Bytes > MaxBodyBytes:
		return nil, entryError(fmt.Sprintf("its entry is larger than %d bytes", MaxBodyBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	data, err := readEntry(ctx, js, o)
	if ctx.Err() != nil {
		// An interrupted transfer looks like a wrong digest.
		return nil, ctx.Err()
	}
	return data, classify(err)
}

func readEntry(ctx context.Context, js jetstream.JetStream, o Object) ([]byte, error) {
	bucket, err := js.ObjectStore(ctx, o.Bucket)
	if err != nil {
		return nil, err
	}
	entry, err := bucket.Get(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = entry.Close() }()
	info, err := entry.Info()
	if err != nil {
		return nil, err
	}
	if info.Size != uint64(o.Bytes) {
		return nil, entryError("its entry has another size than announced")
	}
	data := bytes.NewBuffer(make([]byte, 0, o.Bytes+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(entry, o.Bytes+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) != o.Bytes || !sameDigest(digest(data.Bytes()), o.Digest) {
		return nil, entryError("its entry has another digest than announced")
	}
	return data.Bytes(), nil
}

// digest returns the digest of data in the form of object stores.
func digest(data []byte) string {
	h := sha256.New()
	_, _ = h.Write(data)
	return jetstream.GetObjectDigestValue(h)
}

// sameDigest compares digests with or without the padding of base64.
func sameDigest(a, b string) bool { return strings.TrimRight(a, "=") == strings.TrimRight(b, "=") }

// classify returns an entryError for an error of the entry itself, and any other error as it is.
func classify(err error) error {
	for _, fault := range []error{
		jetstream.ErrObjectNotFound, jetstream.ErrBucketNotFound, jetstream.ErrStreamNotFound, jetstream.ErrBadObjectMeta,
		jetstream.ErrCantGetBucket, jetstream.ErrDigestMismatch, jetstream.ErrInvalidDigestFormat,
	} {
		if errors.Is(err, fault) {
			return entryError("its entry can't be read: " + fault.Error())
		}
	}
	return err
}
