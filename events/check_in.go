package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cenkalti/backoff/v4"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// maxChunk is the object store's own choice of chunk; a server with a small max_payload needs smaller ones.
const maxChunk = 128 << 10

// checkIn stores a transcript's text and turns in the object store and returns the transcript that names them instead.
func (p *Publisher) checkIn(ctx context.Context, t *Transcript) (*Transcript, error) {
	body, err := json.Marshal(transcriptBody{t.Text, t.Turns})
	if err != nil {
		return nil, err
	}
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("a body of %d bytes is over the limit of %d", len(body), MaxBodyBytes)
	}
	o := Object{Bucket: TranscriptBucket, Name: objectName(t.Identity()), Bytes: int64(len(body)), Digest: digest(body)}
	err = backoff.Retry(func() error { return p.store(ctx, o, body) }, backoff.WithContext(p.pause(), ctx))
	if err != nil {
		return nil, fmt.Errorf("transcript body: %w", err)
	}
	checked := *t
	checked.Text, checked.Turns, checked.Object = Null[string]{}, nil, &o
	return &checked, nil
}

// transcriptBody is an entry of the object store.
type transcriptBody struct {
	Text  Null[string] `json:"text"`
	Turns []Turn       `json:"turns"`
}

// objectName is the same for every attempt to publish one state of a transcript.
func objectName(id Identity) string {
	return id.System.String() + "/" + id.Key + "/" + strconv.FormatInt(id.Version, 10)
}

// store leaves an entry alone that is there already: replacing it would take its chunks from under a reader.
func (p *Publisher) store(ctx context.Context, o Object, body []byte) error {
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
