package events

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxBodyBytes is the largest claim-checked body that is stored and fetched: a day of speech is some 2 MB, so more is a mistake,
// and a reader holds the body, parsed, in memory.
const MaxBodyBytes = 16 << 20

const (
	fetchTime = 30 * time.Second
	// An object store answers from whichever replica is near, which can be a moment behind the event that names the entry.
	lookAgain    = 3
	lookInterval = 50 * time.Millisecond
)

// FetchBody puts the text and turns of a transcript that travelled as a claim check in their place, and clears its Object; a
// transcript without one is left as it is. An [*InvalidError] at /object says that the entry is missing, is not the one that was
// announced or can't be read, which no retry mends. Any other error is of the moment. On error the transcript is unchanged.
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
	}, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(lookInterval), lookAgain), ctx))
	if err == nil {
		err = t.ReadBody(body)
	}
	return objectError(err)
}

// objectError turns what is wrong with an entry for good into a problem of the member that names it.
func objectError(err error) error {
	var fault entryError
	var invalid *InvalidError
	switch {
	case errors.As(err, &fault):
		return &InvalidError{Problems: []Problem{{"/object", string(fault)}}}
	case errors.As(err, &invalid):
		return &InvalidError{Problems: []Problem{{"/object", "its entry can't be read: " + invalid.Error()}}}
	case err != nil:
		return fmt.Errorf("transcript body: %w", err)
	}
	return nil
}

// entryError is what is wrong with an object store's entry, or with what was announced of it.
type entryError string

func (f entryError) Error() string { return string(f) }

func fetchEntry(ctx context.Context, js jetstream.JetStream, o Object) ([]byte, error) {
	switch {
	case o.Bucket != TranscriptBucket:
		return nil, entryError("its bucket must be " + TranscriptBucket)
	case o.Bytes > MaxBodyBytes:
		return nil, entryError(fmt.Sprintf("its entry is larger than %d bytes", MaxBodyBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	data, err := readEntry(ctx, js, o)
	if ctx.Err() != nil {
		// A transfer that is cut short looks like a wrong digest.
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

// digest is the digest of data as object stores write it.
func digest(data []byte) string {
	h := sha256.New()
	_, _ = h.Write(data)
	return jetstream.GetObjectDigestValue(h)
}

// sameDigest compares digests whose base64 may lack its padding.
func sameDigest(a, b string) bool { return strings.TrimRight(a, "=") == strings.TrimRight(b, "=") }

// classify tells what is wrong with the entry itself from trouble on the way to it.
func classify(err error) error {
	for _, fault := range []error{
		jetstream.ErrObjectNotFound, jetstream.ErrBucketNotFound, jetstream.ErrStreamNotFound, jetstream.ErrBadObjectMeta,
		jetstream.ErrCantGetBucket, jetstream.ErrDigestMismatch, jetstream.ErrInvalidDigestFormat,
	} {
		if errors.Is(err, fault) {
			return entryError("its entry can't be had: " + fault.Error())
		}
	}
	return err
}
