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
)

// bucket signs links to objects of an S3 bucket with Signature Version 4.
type bucket struct {
	bucketLocation
	transport   *http.Transport // of all clients; signing sends nothing
	credentials *credentials.Credentials
	asking      *http.Client // asks for credentials
}

// retrieveTimeout is the longest duration of a request for credentials, for which other links wait.
const retrieveTimeout = 3 * time.Second

// newBucket takes credentials from the environment, a credentials file or the machine's role. A link expires with the
// credentials that signed it, so a role's are renewed early enough for a link's whole lifetime, if the role has newer
// ones.
func newBucket(at bucketLocation) (*bucket, error) {
	transport, err := minio.DefaultTransport(at.secure)
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}

	b := &bucket{
		bucketLocation: at,
		transport:      transport,
		credentials: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{},
			&credentials.IAM{ExpiryWindow: lifetime + time.Minute},
		}),
		asking: &http.Client{Timeout: retrieveTimeout},
	}

	// Wrong settings are an error here, and not at the first link.
	_, err = b.client(credentials.Value{})
	return b, err
}

// client returns a client with fixed credentials: a client that retrieves them itself waits without a timeout.
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
var ErrNoCredentials = errors.New("no credentials in the environment or in a credentials file, " +
	"and none of the machine's role")

// Sign implements [Store]. The expiry is computed from the signed URL, so that the two cannot differ. Credentials that
// end earlier end the link, too.
func (b *bucket) Sign(ctx context.Context, o Object) (Link, error) {
	v, err := b.credentials.GetWithContext(&credentials.CredContext{Client: b.asking, Context: ctx})
	switch {
	case ctx.Err() != nil:
		return Link{}, fmt.Errorf("sign a link to audio: %w", ctx.Err())
	case err != nil:
		return Link{}, fmt.Errorf("sign a link to audio: %w: %w", ErrNoCredentials, err)

	// The chain returns anonymous credentials where no provider has any.
	case v.SignerType.IsAnonymous():
		return Link{}, fmt.Errorf("sign a link to audio: %w", ErrNoCredentials)
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
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}

	issued, err := time.Parse("20060102T150405Z", signed.Query().Get("X-Amz-Date"))
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}

	// A link expires at a whole second, so the end of the credentials is rounded down.
	expires := issued.Add(lifetime)
	if end := v.Expiration.Truncate(time.Second); !v.Expiration.IsZero() && end.Before(expires) {
		expires = end
	}
	return Link{URL: signed.String(), Expires: expires}, nil
}
