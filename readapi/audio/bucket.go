package audio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/semaphore"
)

// bucket signs links to objects of an S3 bucket with Signature Version 4.
type bucket struct {
	bucketLocation
	transport   *http.Transport // of all clients; signing sends nothing
	credentials *bucketCredentials
}

func newBucket(at bucketLocation) (*bucket, error) {
	transport, err := minio.DefaultTransport(at.secure)
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	b := &bucket{at, transport, newBucketCredentials()}
	_, err = b.client(credentials.Value{})
	return b, err
}

// client returns a client with fixed credentials. One that retrieves them itself waits for a retrieval that is under way, however long.
func (b *bucket) client(v credentials.Value) (*minio.Client, error) {
	client, err := minio.New(b.host, &minio.Options{
		Creds:        credentials.NewStatic(v.AccessKeyID, v.SecretAccessKey, v.SessionToken, v.SignerType),
		Secure:       b.secure,
		Transport:    b.transport,
		Region:       b.region, // without it the client would ask the server
		BucketLookup: b.style,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	return client, nil
}

// ErrNoCredentials is returned while there are no credentials to sign a link with.
var ErrNoCredentials = errors.New("no credentials in the environment or in a credentials file, and none of the machine's role")

// retrieveTimeout is the longest duration of a request for credentials.
const retrieveTimeout = 3 * time.Second

// bucketCredentials takes credentials from the environment, a credentials file or the machine's role. A link expires with the credentials
// that signed it, so those of a role are renewed early enough for a link's whole lifetime, if the role has newer ones. It is safe for
// concurrent use.
type bucketCredentials struct {
	busy   *semaphore.Weighted // one retrieval at a time; unlike the library's mutex, it is waited for with a context
	client *http.Client
	role   *role
	chain  *credentials.Credentials
}

func newBucketCredentials() *bucketCredentials {
	r := &role{IAM: credentials.IAM{ExpiryWindow: lifetime + time.Minute}}
	return &bucketCredentials{
		busy:   semaphore.NewWeighted(1),
		client: &http.Client{Timeout: retrieveTimeout},
		role:   r,
		chain: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{},
			r,
		}),
	}
}

// get returns credentials. The error is [ErrNoCredentials], or the context's.
func (c *bucketCredentials) get(ctx context.Context) (credentials.Value, error) {
	if err := c.busy.Acquire(ctx, 1); err != nil {
		return credentials.Value{}, err
	}
	defer c.busy.Release(1)
	v, err := c.chain.GetWithContext(&credentials.CredContext{Client: c.client, Context: ctx})
	switch {
	case ctx.Err() != nil:
		return credentials.Value{}, ctx.Err()
	case err == nil && v.SignerType.IsAnonymous():
		err = c.role.err
	}
	if err != nil {
		return credentials.Value{}, fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	return v, nil
}

// role is the machine's role. It keeps the error of the last retrieval, which a chain of providers discards.
type role struct {
	credentials.IAM
	err error
}

// RetrieveWithCredContext implements [credentials.Provider].
func (r *role) RetrieveWithCredContext(c *credentials.CredContext) (v credentials.Value, err error) {
	v, r.err = r.IAM.RetrieveWithCredContext(c)
	return v, r.err
}

// Sign implements [Store]. The expiry is computed from the signed URL, so that the two cannot differ. Credentials that end earlier end the
// link, too.
func (b *bucket) Sign(ctx context.Context, o Object) (Link, error) {
	link, err := b.sign(ctx, o)
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}
	return link, nil
}

func (b *bucket) sign(ctx context.Context, o Object) (Link, error) {
	v, err := b.credentials.get(ctx)
	if err != nil {
		return Link{}, err
	}
	client, err := b.client(v)
	if err != nil {
		return Link{}, err
	}
	signed, err := client.PresignedGetObject(ctx, b.name, b.prefix+o.Key, lifetime, url.Values{
		"response-content-type":        {o.mediaType()},
		"response-content-disposition": {contentDisposition},
		"response-cache-control":       {cacheControl},
	})
	if err != nil {
		return Link{}, err
	}
	issued, err := time.Parse("20060102T150405Z", signed.Query().Get("X-Amz-Date"))
	if err != nil {
		return Link{}, err
	}
	expires := issued.Add(lifetime)
	if end := v.Expiration.Truncate(time.Second); !v.Expiration.IsZero() && end.Before(expires) {
		expires = end
	}
	return Link{URL: signed.String(), Expires: expires}, nil
}
