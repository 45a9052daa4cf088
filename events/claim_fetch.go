package events

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	// bucketStream is the stream of the transcripts' bucket.
	bucketStream = "OBJ_" + TranscriptBucket

	// maxChunks is how many chunks a body may have. Chunks of less than 1 KiB would take longer to read than their
	// bytes are worth.
	maxChunks = MaxBodyBytes >> 10

	// fetchConcurrency is how many entries are fetched at a time.
	fetchConcurrency = 8

	// readTimeout limits the time in which the chunks of one entry arrive.
	readTimeout = 30 * time.Second

	// fetchAttempts is how often an entry is asked for that can't be read although NATS is healthy. The pauses between
	// the attempts begin with fetchPause and double.
	fetchAttempts = 8
	fetchPause    = 50 * time.Millisecond

	// doubtAttempts is how often an entry is asked for that contradicts its event, in a bucket with replicas. Any
	// replica answers, and can lag behind the event that names the entry.
	doubtAttempts = 3
)

// FetchBodies fetches the texts and turns of transcripts with claim checks, several at a time, sets them, and
// clears the transcripts' Object. It leaves transcripts without a claim check unchanged.
//
// The error of a transcript is an [*InvalidError] at /object: its entry is missing, unreadable or another one than
// the event announces, or could not be read in a bounded number of attempts. Such an error is permanent, and leaves
// the transcript unchanged. The last result is an error if NATS is not healthy; transcripts that have an Object and
// no error were not fetched then.
func FetchBodies(ctx context.Context, js jetstream.JetStream, transcripts []*Transcript) (invalid []error, err error) {
	return fetchBodies(ctx, js, transcripts, fetchPause)
}

func fetchBodies(
	ctx context.Context, js jetstream.JetStream, transcripts []*Transcript, pause time.Duration,
) ([]error, error) {
	invalid := make([]error, len(transcripts))
	var open []*claim
	for i, t := range transcripts {
		if t.Object != nil {
			open = append(open, &claim{transcript: t, invalid: &invalid[i]})
		}
	}

	if len(open) == 0 {
		return invalid, nil
	}

	reconnects := js.Conn().Stats().Reconnects
	for attempt := 1; ; attempt++ {
		b, err := openBucket(ctx, js)
		if err == nil {
			err = b.fetch(ctx, open)
		}
		if err != nil {
			return invalid, err
		}

		// A failure while the connection was lost says nothing about an entry.
		open = slices.DeleteFunc(open, func(c *claim) bool { return c.err == nil })
		if conn := js.Conn(); len(open) > 0 && (!conn.IsConnected() || conn.Stats().Reconnects != reconnects) {
			return invalid, fmt.Errorf("transcript body: the connection to NATS was lost: %w", open[0].err)
		}

		if open = undecided(open, attempt, b.replicated); len(open) == 0 {
			return invalid, nil
		}

		// A replica that lags needs time to receive the entry.
		select {
		case <-ctx.Done():
			return invalid, ctx.Err()
		case <-time.After(pause << (attempt - 1)):
		}
	}
}

// claim is a transcript whose entry is fetched.
type claim struct {
	transcript *Transcript
	invalid    *error // the permanent error; nil: none
	err        error  // of the last attempt
}

// undecided sets the permanent errors of claims that failed in an attempt, and returns the claims that are to be
// tried again.
func undecided(claims []*claim, attempt int, replicated bool) (again []*claim) {
	for _, c := range claims {
		var fault entryError
		var doubt doubtfulError
		var invalid *InvalidError

		switch {
		case errors.As(c.err, &fault):
			*c.invalid = objectError(string(fault))
		case errors.As(c.err, &doubt) && (!replicated || attempt >= doubtAttempts):
			*c.invalid = objectError(string(doubt))
		case errors.As(c.err, &invalid):
			*c.invalid = objectError("its entry is not valid: " + invalid.Error())

		// Any other failure can be of the moment, so the claim gets more attempts.
		case attempt >= fetchAttempts:
			*c.invalid = objectError(fmt.Sprintf("its entry could not be read in %d attempts: %v", attempt, c.err))
		default:
			again = append(again, c)
		}
	}

	return again
}

func objectError(detail string) error { return &InvalidError{Problems: []Problem{{"/object", detail}}} }

// entryError is a permanent error: the entry of the object store and its announcement in the event do not match.
type entryError string

func (e entryError) Error() string { return string(e) }

// doubtfulError is an [entryError] unless a replica that lags has answered.
type doubtfulError string

func (e doubtfulError) Error() string { return string(e) }

// errReplicaLags is an error of the moment.
var errReplicaLags = errors.New("a replica of the object store lags and does not have the entry yet")

// unreadable is the beginning of the errors of entries that don't exist.
const unreadable = "its entry can't be read: "

// bucket is the bucket of transcripts, for one attempt.
type bucket struct {
	js         jetstream.JetStream
	stream     jetstream.Stream // nil: the bucket does not exist
	store      jetstream.ObjectStore
	replicated bool
}

// openBucket opens the bucket. An error means that NATS is not healthy.
func openBucket(ctx context.Context, js jetstream.JetStream) (b bucket, err error) {
	b.js = js
	b.stream, err = js.Stream(ctx, bucketStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// NATS is healthy, so each transcript gets an error of its own.
		return bucket{js: js}, nil
	}

	// A stream without a leader can't tell whether an entry exists.
	if err == nil {
		err = checkLeader(b.stream.CachedInfo())
		b.replicated = b.stream.CachedInfo().Config.Replicas > 1
	}

	if err == nil {
		b.store, err = js.ObjectStore(ctx, TranscriptBucket)
	}
	if err != nil {
		return b, fmt.Errorf("transcript body: %w", err)
	}
	return b, nil
}

// fetch tries once to fetch the bodies of claims.
func (b bucket) fetch(ctx context.Context, claims []*claim) error {
	var group errgroup.Group
	group.SetLimit(fetchConcurrency)
	for _, c := range claims {
		group.Go(func() error {
			c.err = b.fetchBody(ctx, c.transcript)
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (b bucket) fetchBody(ctx context.Context, t *Transcript) error {
	if b.stream == nil {
		return doubtfulError(unreadable + jetstream.ErrBucketNotFound.Error())
	}

	info, err := b.find(ctx, *t.Object)
	if err != nil {
		return err
	}

	body, err := b.read(ctx, *t.Object, info)
	if err != nil {
		return err
	}
	return t.ReadBody(body)
}

// find returns the description of an entry that is the announced one and whose chunks are all there: reading waits
// for a chunk that is missing. It does not follow a link, which Publisher never stores: a link can lead to itself,
// or to a bucket that consumers may not read.
func (b bucket) find(ctx context.Context, o Object) (*jetstream.ObjectInfo, error) {
	info, err := b.store.GetInfo(ctx, o.Name, jetstream.GetObjectInfoShowDeleted())
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		// The answer can be from a replica that lags.
		return nil, b.findAtLeader(ctx, o.Name)
	case errors.Is(err, jetstream.ErrBadObjectMeta):
		return nil, doubtfulError(unreadable + err.Error())
	case err != nil:
		return nil, err

	case info.Deleted:
		return nil, doubtfulError(unreadable + jetstream.ErrObjectNotFound.Error())
	case info.Opts != nil && info.Opts.Link != nil:
		return nil, doubtfulError("its entry is a link")

	case info.Size != uint64(o.Bytes):
		return nil, doubtfulError("its entry has another size than announced")
	case !sameDigest(info.Digest, o.Digest):
		return nil, doubtfulError("its entry has another digest than announced")

	case info.Size == 0:
		return info, nil // without chunks

	// The NUID becomes a part of a subject, and the number of chunks limits the work.
	case !consists(info.NUID, 1, 64, isURLSafe), info.Chunks == 0, info.Chunks > maxChunks:
		return nil, doubtfulError(unreadable + jetstream.ErrBadObjectMeta.Error())
	}

	missing, err := missingChunks(ctx, b.stream, info)
	if err == nil && missing {
		err = doubtfulError("chunks of its entry are missing")
	}
	return info, err
}

// findAtLeader returns why a replica does not have an entry.
func (b bucket) findAtLeader(ctx context.Context, name string) error {
	stored, err := storedMessages(ctx, b.stream, "M."+base64.URLEncoding.EncodeToString([]byte(name)))
	switch {
	case err != nil:
		return err
	case stored > 0:
		return errReplicaLags
	}
	return doubtfulError(unreadable + jetstream.ErrObjectNotFound.Error())
}

// read reads the chunks of an entry that was found.
func (b bucket) read(ctx context.Context, o Object, info *jetstream.ObjectInfo) ([]byte, error) {
	if info.Size == 0 {
		return nil, nil
	}

	// Reading would wait forever for a chunk that was deleted meanwhile.
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	push, err := b.js.Conn().JetStream(nats.APIPrefix(b.js.Options().APIPrefix))
	if err != nil {
		return nil, err
	}

	subject := "$O." + TranscriptBucket + ".C." + info.NUID
	chunks, err := push.SubscribeSync(subject, nats.OrderedConsumer(), nats.BindStream(bucketStream), nats.Context(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = chunks.Unsubscribe() }() // fails only where the connection is lost

	data := make([]byte, 0, o.Bytes)
	for range info.Chunks {
		m, err := chunks.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}

		// An entry with more bytes than announced fails the check of the digest below.
		if len(data)+len(m.Data) > int(o.Bytes) {
			break
		}
		data = append(data, m.Data...)
	}

	if !sameDigest(digest(data), o.Digest) {
		return nil, entryError("its entry has another digest than announced")
	}
	return data, nil
}

// missingChunks tells whether chunks of an entry that isn't empty are missing.
func missingChunks(ctx context.Context, stream jetstream.Stream, info *jetstream.ObjectInfo) (bool, error) {
	stored, err := storedMessages(ctx, stream, "C."+info.NUID)
	return stored < max(uint64(info.Chunks), 1), err
}

// storedMessages asks the leader of the bucket's stream how many messages it has under a subject of the bucket. Any
// replica answers requests for an entry, and can lag.
func storedMessages(ctx context.Context, stream jetstream.Stream, subject string) (uint64, error) {
	subject = "$O." + TranscriptBucket + "." + subject
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err == nil {
		err = checkLeader(info)
	}
	if err != nil {
		return 0, err
	}
	return info.State.Subjects[subject], nil
}

func checkLeader(info *jetstream.StreamInfo) error {
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return fmt.Errorf("stream %s has no leader at the moment", info.Config.Name)
	}
	return nil
}
