package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	o := Object{Bucket: TranscriptBucket, Bytes: int64(len(body)), Digest: digest(body)}
	o.Name = objectName(t.Identity(), o.Digest)
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

// objectName returns the same name for every attempt to publish one state of a transcript. Another body under the same version gets another
// name, because the event that was applied refers to the first one.
func objectName(id Identity, digest string) string {
	const unique = 16 // characters of a digest
	start := strings.TrimPrefix(digest, "SHA-256=")[:unique]
	return id.System.String() + "/" + id.Key + "/" + strconv.FormatInt(id.Version, 10) + "/" + start
}

// putEntry does not replace an equal entry, because that would delete chunks that a consumer may be reading. An interrupted attempt can have
// stored the entry without its chunks.
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
		if missing, err := missingChunks(ctx, p.js, info); err != nil || !missing {
			return err
		}
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
	return fetchBody(ctx, js, t, fetchTimeout)
}

func fetchBody(ctx context.Context, js jetstream.JetStream, t *Transcript, timeout time.Duration) error {
	var body []byte
	err := backoff.Retry(func() (err error) {
		body, err = fetchEntry(ctx, js, *t.Object, timeout)
		if fault := entryError(""); err != nil && !errors.As(err, &fault) && !errors.Is(err, errReplicaLags) {
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

// errReplicaLags is a temporary error.
var errReplicaLags = errors.New("a replica of the object store lags and does not have the entry yet")

func fetchEntry(ctx context.Context, js jetstream.JetStream, o Object, timeout time.Duration) ([]byte, error) {
	switch {
	case o.Bucket != TranscriptBucket:
		return nil, entryError("its bucket must be " + TranscriptBucket)
	case o.Bytes > MaxBodyBytes:
		return nil, entryError(fmt.Sprintf("its entry is larger than %d bytes", MaxBodyBytes))
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := readEntry(limited, js, o)
	switch { // an interrupted transfer looks like a wrong digest
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case time.Since(began) >= timeout:
		return nil, backoff.Permanent(cmp.Or(checkChunks(ctx, js, o), context.DeadlineExceeded))
	}
	return nil, classify(err)
}

// checkChunks returns an [entryError] if chunks of an entry are missing. Reading it waits for the first one without end.
func checkChunks(ctx context.Context, js jetstream.JetStream, o Object) error {
	bucket, err := js.ObjectStore(ctx, o.Bucket)
	if err != nil {
		return err
	}
	info, err := bucket.GetInfo(ctx, o.Name)
	if err != nil {
		return err
	}
	missing, err := missingChunks(ctx, js, info)
	if err == nil && missing {
		return entryError("chunks of its entry are missing")
	}
	return err
}

// missingChunks reports whether chunks of an entry that isn't empty are missing.
func missingChunks(ctx context.Context, js jetstream.JetStream, info *jetstream.ObjectInfo) (bool, error) {
	stored, err := storedMessages(ctx, js, "C."+info.NUID)
	return stored < max(uint64(info.Chunks), 1), err
}

// storedMessages asks the leader of the bucket's stream how many messages it has under a subject of the bucket. Any replica answers requests
// for an entry, and can lag.
func storedMessages(ctx context.Context, js jetstream.JetStream, subject string) (uint64, error) {
	stream, err := js.Stream(ctx, "OBJ_"+TranscriptBucket)
	if err != nil {
		return 0, err
	}
	subject = "$O." + TranscriptBucket + "." + subject
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, err
	}
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return 0, fmt.Errorf("stream %s has no leader at the moment", info.Config.Name)
	}
	return info.State.Subjects[subject], nil
}

// findEntry does not follow a link, which Publisher never stores: it can lead to itself or to a bucket that consumers may not read.
func findEntry(ctx context.Context, js jetstream.JetStream, bucket jetstream.ObjectStore, o Object) error {
	info, err := bucket.GetInfo(ctx, o.Name, jetstream.GetObjectInfoShowDeleted())
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		stored, leaderErr := storedMessages(ctx, js, "M."+base64.URLEncoding.EncodeToString([]byte(o.Name)))
		if stored > 0 {
			return errReplicaLags
		}
		return cmp.Or(leaderErr, err)
	case err != nil:
		return err
	case info.Deleted:
		return jetstream.ErrObjectNotFound
	case info.Opts != nil && info.Opts.Link != nil:
		return entryError("its entry is a link")
	case info.Size != uint64(o.Bytes):
		return entryError("its entry has another size than announced")
	}
	return nil
}

func readEntry(ctx context.Context, js jetstream.JetStream, o Object) ([]byte, error) {
	bucket, err := js.ObjectStore(ctx, o.Bucket)
	if err != nil {
		return nil, err
	}
	if err := findEntry(ctx, js, bucket, o); err != nil {
		return nil, err
	}
	entry, err := bucket.Get(ctx, o.Name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, errReplicaLags // another one found it
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = entry.Close() }()
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
