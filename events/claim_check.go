package events

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cenkalti/backoff/v4"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// maxChunk is the object store's default chunk size in bytes. A server with a small max_payload needs smaller chunks.
const maxChunk = 128 << 10

// storeBody stores a transcript's text and turns in the object store and returns the transcript with a claim check
// in their place.
func (p *Publisher) storeBody(ctx context.Context, t *Transcript) (*Transcript, error) {
	body, err := json.Marshal(transcriptBody{t.Text, t.Turns})
	if err != nil {
		return nil, err
	}

	// The name of the entry has the digest, so another body gets another entry.
	o := Object{Bucket: TranscriptBucket, Bytes: int64(len(body)), Digest: digest(body)}
	o.Name = entryName(t.Identity(), o.Digest)
	err = backoff.Retry(func() error { return p.putEntry(ctx, o, body) }, backoff.WithContext(newBackOff(), ctx))
	if err != nil {
		return nil, fmt.Errorf("transcript body: %w", err)
	}

	// The caller's transcript stays unchanged.
	stored := *t
	stored.Text, stored.Turns, stored.Object = Null[string]{}, nil, &o
	return &stored, nil
}

// transcriptBody is the content of an entry of the object store.
type transcriptBody struct {
	Text  Null[string] `json:"text"`
	Turns []Turn       `json:"turns"`
}

// entryName returns the same name for every attempt to publish one state of a transcript. Another body under the
// same version gets another name, because the event that was applied refers to the first one.
func entryName(id Identity, digest string) string {
	const unique = 16 // characters of a digest
	start := strings.TrimPrefix(digest, "SHA-256=")[:unique]
	return id.System.String() + "/" + id.Key + "/" + strconv.FormatInt(id.Version, 10) + "/" + start
}

// putEntry does not replace an equal entry, because that would delete chunks that a consumer may be reading. An
// interrupted attempt can have stored the entry without its chunks.
func (p *Publisher) putEntry(ctx context.Context, o Object, body []byte) error {
	bucket, err := p.js.ObjectStore(ctx, o.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return backoff.Permanent(err)
	}
	if err != nil {
		return err
	}

	// An entry that looks equal can still lack chunks.
	info, err := bucket.GetInfo(ctx, o.Name)
	if err == nil && info.Size == uint64(o.Bytes) && sameDigest(info.Digest, o.Digest) {
		stream, err := p.js.Stream(ctx, bucketStream)
		if err != nil {
			return err
		}
		if missing, err := missingChunks(ctx, stream, info); err != nil || !missing {
			return err
		}
	}

	_, err = bucket.Put(ctx, jetstream.ObjectMeta{
		Name: o.Name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(min(p.limit(), maxChunk))},
	}, bytes.NewReader(body))
	return err
}

// digest returns the digest of data in the form of object stores.
func digest(data []byte) string {
	h := sha256.New()
	_, _ = h.Write(data)
	return jetstream.GetObjectDigestValue(h)
}

// sameDigest compares digests with or without the padding of base64.
func sameDigest(a, b string) bool { return strings.TrimRight(a, "=") == strings.TrimRight(b, "=") }
